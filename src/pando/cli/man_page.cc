// SPDX-License-Identifier: MIT
#include "pando/cli/man_page.h"

#include "pando/base/strings.h"

namespace pando::cli {
namespace {

// roff reads a backslash as an escape, a leading dot or quote as a request, and sets a plain minus
// as a hyphen, which cannot be copied back into a shell.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// Keeps the line breaks: paragraphs, examples and lists of the help text are already wrapped.
std::string verbatim(const std::vector<std::string>& lines) {
  std::string out = ".nf\n";
  for (const std::string& line : lines) out += escaped(line) + "\n";
  return out + ".fi\n";
}

std::string flag_entry(const HelpFlag& flag) {
  std::string out = ".TP\n\\fB" + escaped(flag.name) + "\\fR";
  if (!flag.hint.empty()) out += " \\fI" + escaped(flag.hint) + "\\fR";
  return out + "\n" + escaped(flag.help) + "\n";
}

}  // namespace

std::string man_page(const ManPage& page) {
  std::string out = concat(".TH ", upper(escaped(page.name)), " 1 \"\" \"pando ",
                           escaped(page.version), "\" \"User commands\"\n");
  out += concat(".SH NAME\n", escaped(page.name), " \\- ", escaped(page.summary), "\n");
  out += concat(".SH SYNOPSIS\n", escaped(page.help.usage), "\n");
  out += ".SH DESCRIPTION\n" + verbatim(page.help.intro);
  for (const HelpGroup& group : page.help.groups) {
    out += concat(".SH ", upper(escaped(group.title)), "\n");
    for (const HelpFlag& flag : group.flags) out += flag_entry(flag);
  }
  return out;
}

}  // namespace pando::cli
