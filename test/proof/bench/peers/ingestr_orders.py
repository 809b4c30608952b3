"""
The orders report into DuckDB or Postgres with ingestr, rows merged by key.

ingestr has no source for an interface that wants a token, so the report is written as a CSV file first, which it then
loads. Replacing by day is its strategy `delete+insert` (its page "Incremental loading"), but with a CSV file that does
not come about: given an interval it compares text with dates and fails, and without one it passes over, in silence,
every day before the last that it has seen. So this is `merge`, the strategy that the same page names for rows with a key.
Arguments: folder for the file, ingestr's address of the target, first day, last day.
"""

import csv
import os
import subprocess
import sys

from report import answers

folder, target, first, last = sys.argv[1:]
FIELDS = (
    "orderDate orderDateTime orderId orderItemId productTitle productId chunkName siteName siteCode frameType name subId "
    "status quantity priceExclVat priceInclVat commissionPercentage commission statusFinal approvedForPayment"
).split()
TYPES = {"quantity": "bigint", "statusFinal": "bool", "approvedForPayment": "bool"}
TYPES |= dict.fromkeys(["priceExclVat", "priceInclVat", "commissionPercentage", "commission"], "decimal")

path = os.path.join(folder, "orders.csv")
with open(path, "w", newline="") as file:
    rows = csv.DictWriter(file, FIELDS, extrasaction="ignore")
    rows.writeheader()
    for _, answer in answers(first, last):
        rows.writerows(answer.json()["items"])

ingestr = [os.path.join(os.path.dirname(sys.executable), "ingestr"), "ingest", "--yes", "--progress", "log"]
ingestr += ["--source-uri", f"csv://{path}", "--source-table", "orders", "--dest-uri", target, "--dest-table", "peer.orders"]
ingestr += ["--incremental-strategy", "merge", "--primary-key", "orderId", "--primary-key", "orderItemId"]
ingestr += ["--columns", ",".join(f"{name}:{kind}" for name, kind in TYPES.items())]
sys.exit(subprocess.run(ingestr).returncode)
