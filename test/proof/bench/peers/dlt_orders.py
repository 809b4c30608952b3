"""
The orders report into DuckDB or Postgres with dlt, a day at a time, each day replaced.

The way is that of dlt's documentation, "Merge loading": daily batches are merged on the column that holds their day
(`merge_key`). Amounts are declared decimal, as "Schema" shows: inferred, they are doubles, and one whose first value is
whole is split over two columns. The file formats are those that "DuckDB" and "Postgres" call the faster ones; files of so many
rows and a process for each core to write them are what "Performance" advises.
Arguments: destination (duckdb or postgres), DuckDB file or Postgres address, first day, last day.
"""

import os
import sys

import dlt
from report import answers

destination, place, first, last = sys.argv[1:]
AMOUNTS = ["priceExclVat", "priceInclVat", "commissionPercentage", "commission"]
FASTER = {"duckdb": "parquet", "postgres": "csv"}

os.environ["NORMALIZE__WORKERS"] = "2"
os.environ["DATA_WRITER__FILE_MAX_ITEMS"] = "100000"


@dlt.resource(
    name="orders",
    write_disposition="merge",
    merge_key="orderDate",
    columns={name: {"data_type": "decimal"} for name in AMOUNTS},
)
def orders():
    for _, answer in answers(first, last):
        yield answer.json()["items"]


pipeline = dlt.pipeline(
    pipeline_name="orders",
    destination=getattr(dlt.destinations, destination)(credentials=place),
    dataset_name="peer",
)
pipeline.run(orders(), loader_file_format=FASTER[destination]).raise_on_failed_jobs()
