# Completion of pando's commands, flags, presets and models for bash. The program itself knows the
# words (`pando complete`), so this never lags behind it.
# SPDX-License-Identifier: MIT
_pando() {
  local program=${COMP_WORDS[0]}
  local current=${COMP_WORDS[COMP_CWORD]}
  local -a words=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
  mapfile -t COMPREPLY < <("$program" complete "${words[@]}" "$current" 2>/dev/null)
  # Nothing to offer: names of files, for flags such as --run-dir.
  ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -F _pando pando
