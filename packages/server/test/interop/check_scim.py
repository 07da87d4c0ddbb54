"""Lets scim2-tester check a SCIM server: reads the request on standard input, writes the results on standard output."""

import json
import sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

question = json.load(sys.stdin)
headers = {"Authorization": f"Bearer {question['key']}"}
with httpx2.Client(base_url=question["url"], headers=headers, timeout=30) as http:
    results = check_server(SyncSCIMClient(http))
json.dump(
    [{"status": r.status.name, "title": r.title, "reason": str(r.reason)[:1000]} for r in results],
    sys.stdout,
)
