"""
The orders report into Postgres with Sling, rows merged by key. (Into DuckDB it goes by an extension that DuckDB loads from
its own host, which a race on loopback does not ask.)

Sling asks an interface that wants a token only with a licence, so the answers are kept as files first, as they come, and
Sling reads the folder. `incremental` with a primary key and without an update key is what its page "Modes" names for loading
rows that may have changed. Amounts are declared decimal (`columns`): found out by looking, some are doubles.
Arguments: folder for the files, address of the target, first day, last day.
"""

import json
import os
import subprocess
import sys
from datetime import date, timedelta

import requests
from sling_linux_amd64 import SLING_BIN

folder, target, first, last = sys.argv[1:]
AMOUNTS = ["priceExclVat", "priceInclVat", "commissionPercentage", "commission"]
TYPES = {"orderDate": "date", "quantity": "bigint", "statusFinal": "bool", "approvedForPayment": "bool"}
TYPES |= dict.fromkeys(AMOUNTS, "decimal(24,9)")
TYPES |= dict.fromkeys(["orderId", "orderItemId", "productId", "siteCode", "subId"], "string")

answer = requests.post(
    f"{os.environ['PARTNER_AUTH_URL']}/token",
    params={"grant_type": "client_credentials"},
    auth=(os.environ["PARTNER_CLIENT_ID"], os.environ["PARTNER_CLIENT_SECRET"]),
    headers={"Accept": "application/json"},
)
answer.raise_for_status()
session = requests.Session()
session.headers = {"Accept": "application/json", "Authorization": f"Bearer {answer.json()['access_token']}"}

answers = os.path.join(folder, "answers")
os.makedirs(answers, exist_ok=True)
for name in os.listdir(answers):
    os.remove(os.path.join(answers, name))
day = date.fromisoformat(first)
while day <= date.fromisoformat(last):
    answer = session.get(os.environ["PARTNER_ORDERS_URL"], params={"startDate": day, "endDate": day})
    answer.raise_for_status()
    with open(os.path.join(answers, f"{day}.json"), "wb") as file:
        file.write(answer.content)
    day += timedelta(days=1)

os.chmod(SLING_BIN, 0o755)
sling = [SLING_BIN, "run", "--src-stream", f"file://{answers}/", "--tgt-conn", "TARGET", "--tgt-object", "peer.orders"]
sling += ["--src-options", json.dumps({"format": "json", "jmespath": "items", "flatten": True})]
sling += ["--tgt-options", json.dumps({"column_casing": "snake"})]
sling += ["--mode", "incremental", "--primary-key", "orderId,orderItemId", "--columns", json.dumps(TYPES)]
home = {"SLING_HOME_DIR": os.path.join(folder, "sling"), "SLING_DISABLE_TELEMETRY": "true"}
sys.exit(subprocess.run(sling, env=os.environ | home | {"TARGET": f"{target}?sslmode=disable"}).returncode)
