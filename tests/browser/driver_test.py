# SPDX-License-Identifier: MIT
"""The driver of the browser works, and finds errors and faults of pages.
Usage: driver_test.py FOLDER_OF_PACKAGES"""
import sys

import browser

browser.run_script(browser.FOLDER / "driver_page.js", sys.argv[1], [])
