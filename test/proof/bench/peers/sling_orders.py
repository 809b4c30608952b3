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

from report import answers
from sling_linux_amd64 import SLING_BIN

folder, target, first, last = sys.argv[1:]
AMOUNTS = ["priceExclVat", "priceInclVat", "commissionPercentage", "commission"]
TYPES = {"orderDate": "date", "quantity": "bigint", "statusFinal": "bool", "approvedForPayment": "bool"}
TYPES |= dict.fromkeys(AMOUNTS, "decimal(24,9)")
TYPES |= dict.fromkeys(["orderId", "orderItemId", "productId", "siteCode", "subId"], "string")

files = os.path.join(folder, "answers")
os.makedirs(files, exist_ok=True)
for name in os.listdir(files):
    os.remove(os.path.join(files, name))
for day, answer in answers(first, last):
    with open(os.path.join(files, f"{day}.json"), "wb") as file:
        file.write(answer.content)

os.chmod(SLING_BIN, 0o755)
sling = [SLING_BIN, "run", "--src-stream", f"file://{files}/", "--tgt-conn", "TARGET", "--tgt-object", "peer.orders"]
sling += ["--src-options", json.dumps({"format": "json", "jmespath": "items", "flatten": True})]
sling += ["--tgt-options", json.dumps({"column_casing": "snake"})]
sling += ["--mode", "incremental", "--primary-key", "orderId,orderItemId", "--columns", json.dumps(TYPES)]
home = {"SLING_HOME_DIR": os.path.join(folder, "sling"), "SLING_DISABLE_TELEMETRY": "true"}
sys.exit(subprocess.run(sling, env=os.environ | home | {"TARGET": f"{target}?sslmode=disable"}).returncode)
