"""The orders report as a client of the service asks for it, a day at a time; for the peers that are scripts of Python."""

import os
from datetime import date, timedelta

import requests


def answers(first, last):
    """Each day from the first to the last, with the service's answer."""
    answer = requests.post(
        f"{os.environ['PARTNER_AUTH_URL']}/token",
        params={"grant_type": "client_credentials"},
        auth=(os.environ["PARTNER_CLIENT_ID"], os.environ["PARTNER_CLIENT_SECRET"]),
        headers={"Accept": "application/json"},
    )
    answer.raise_for_status()
    session = requests.Session()
    session.headers = {"Accept": "application/json", "Authorization": f"Bearer {answer.json()['access_token']}"}
    day = date.fromisoformat(first)
    while day <= date.fromisoformat(last):
        answer = session.get(os.environ["PARTNER_ORDERS_URL"], params={"startDate": day, "endDate": day})
        answer.raise_for_status()
        yield day, answer
        day += timedelta(days=1)
