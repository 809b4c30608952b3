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
from datetime import date, timedelta

import requests

folder, target, first, last = sys.argv[1:]
FIELDS = (
    "orderDate orderDateTime orderId orderItemId productTitle productId chunkName siteName siteCode frameType name subId "
    "status quantity priceExclVat priceInclVat commissionPercentage commission statusFinal approvedForPayment"
).split()
TYPES = {"quantity": "bigint", "statusFinal": "bool", "approvedForPayment": "bool"}
TYPES |= dict.fromkeys(["priceExclVat", "priceInclVat", "commissionPercentage", "commission"], "decimal")

answer = requests.post(
    f"{os.environ['PARTNER_AUTH_URL']}/token",
    params={"grant_type": "client_credentials"},
    auth=(os.environ["PARTNER_CLIENT_ID"], os.environ["PARTNER_CLIENT_SECRET"]),
    headers={"Accept": "application/json"},
)
answer.raise_for_status()
session = requests.Session()
session.headers = {"Accept": "application/json", "Authorization": f"Bearer {answer.json()['access_token']}"}

path = os.path.join(folder, "orders.csv")
with open(path, "w", newline="") as file:
    rows = csv.DictWriter(file, FIELDS, extrasaction="ignore")
    rows.writeheader()
    day = date.fromisoformat(first)
    while day <= date.fromisoformat(last):
        answer = session.get(os.environ["PARTNER_ORDERS_URL"], params={"startDate": day, "endDate": day})
        answer.raise_for_status()
        rows.writerows(answer.json()["items"])
        day += timedelta(days=1)

ingestr = [os.path.join(os.path.dirname(sys.executable), "ingestr"), "ingest", "--yes", "--progress", "log"]
ingestr += ["--source-uri", f"csv://{path}", "--source-table", "orders", "--dest-uri", target, "--dest-table", "peer.orders"]
ingestr += ["--incremental-strategy", "merge", "--primary-key", "orderId", "--primary-key", "orderItemId"]
ingestr += ["--columns", ",".join(f"{name}:{kind}" for name, kind in TYPES.items())]
sys.exit(subprocess.run(ingestr).returncode)
