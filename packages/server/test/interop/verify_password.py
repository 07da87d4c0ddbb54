"""Checks passwords against PHC strings with the reference implementation of Argon2."""

import json
import sys

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError


def judge(check):
    found = extract_parameters(check["phc"])
    try:
        matches = PasswordHasher().verify(check["phc"], check["password"])
    except VerifyMismatchError:
        matches = False
    return {
        "matches": matches,
        "type": found.type.name,
        "version": found.version,
        "memory_kib": found.memory_cost,
        "salt": found.salt_len,
        "tag": found.hash_len,
    }


json.dump([judge(check) for check in json.load(sys.stdin.buffer)], sys.stdout)
