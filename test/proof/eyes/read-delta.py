"""Reads Delta tables with an engine that knows nothing of this project, and prints what it finds as one JSON document.

Arguments: the engine (delta-rs, polars, chdb, spark) and the folder. On standard input: {"sums": {table: [columns]}, "questions": [SQL]}.
Out: {"sums": {table: {"count": text, column: text}}, "questions": [[[text]]]}; numbers are text with every digit, without zeros at the end.
"""
import json
import os
import sys
from decimal import Decimal


def text(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, (Decimal, int)):
        plain = format(Decimal(value).normalize(), 'f')
        return '0' if plain == '-0' else plain
    return str(value)


def delta_rs(root, tables):
    from deltalake import DeltaTable, QueryBuilder
    builder = QueryBuilder()
    for table in tables:
        builder = builder.register(table, DeltaTable(f'{root}/{table}'))

    def ask(sql):
        found = builder.execute(sql).read_all()
        columns = [found.column(i).to_pylist() for i in range(found.num_columns)]
        return [list(row) for row in zip(*columns)]
    return ask


def polars(root, tables):
    import polars as pl
    context = pl.SQLContext({table: pl.scan_delta(f'{root}/{table}') for table in tables})
    return lambda sql: [list(row) for row in context.execute(sql, eager=True).rows()]


def chdb(root, tables):
    import chdb as engine
    os.chdir(root)  # it reads no files outside of where it is
    connection = engine.connect(':memory:')
    for table in tables:
        connection.query(f"CREATE VIEW {table} AS SELECT * FROM deltaLakeLocal('{root}/{table}')")

    def ask(sql):
        # Names are taken from the view: sums keep their digits as text.
        lines = str(connection.query(sql, 'JSONCompactStringsEachRow')).splitlines()
        return [json.loads(line) for line in lines if line]
    return ask


def spark(root, tables):
    from pyspark.sql import SparkSession
    session = (
        SparkSession.builder.master('local[2]')
        .config('spark.jars.packages', 'io.delta:delta-spark_2.13:4.0.1')
        .config('spark.sql.extensions', 'io.delta.sql.DeltaSparkSessionExtension')
        .config('spark.sql.catalog.spark_catalog', 'org.apache.spark.sql.delta.catalog.DeltaCatalog')
        .config('spark.sql.session.timeZone', 'UTC')
        .config('spark.sql.shuffle.partitions', '4')
        .config('spark.ui.enabled', 'false')
        .getOrCreate()
    )
    for table in tables:
        session.sql(f'CREATE OR REPLACE TEMPORARY VIEW {table} AS SELECT * FROM delta.`{root}/{table}`')
    return lambda sql: [list(row) for row in session.sql(sql).collect()]


def number(value):
    """Of engines that answer in text."""
    if value == 'ᴺᵁᴸᴸ':
        return None
    try:
        return text(Decimal(value))
    except Exception:
        return value


def main():
    name, root = sys.argv[1:]
    asked = json.load(sys.stdin)
    out = os.dup(1)
    os.dup2(2, 1)  # what engines print is no part of the answer
    ask = {'delta-rs': delta_rs, 'polars': polars, 'chdb': chdb, 'spark': spark}[name](root, list(asked['sums']))
    shown = number if name == 'chdb' else text
    sums = {}
    for table, columns in asked['sums'].items():
        items = ['count(*) AS n', *(f'sum("{c}") AS s_{c}' if name != 'spark' else f'sum(`{c}`) AS s_{c}' for c in columns)]
        row = ask(f'SELECT {", ".join(items)} FROM {table}')[0]
        sums[table] = dict(zip(['count', *columns], map(shown, row)))
    questions = [[[shown(value) for value in row] for row in ask(sql)] for sql in asked['questions']]
    with os.fdopen(out, 'w') as answer:
        json.dump({'sums': sums, 'questions': questions}, answer)


main()
