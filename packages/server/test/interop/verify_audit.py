"""Recomputes an audit log from docs/audit-verify.md alone: chain, Merkle tree, proofs and signed checkpoints.

Nothing but the standard library. Reads JSON on standard input and answers JSON.
"""

import base64
import hashlib
import json
import sys


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


# The chain.


def record_of(event):
    rest = {name: value for name, value in event.items() if name not in ("seq", "hash")}
    return json.dumps(rest, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def chain_of(events):
    """The first sequence number that does not fit, or None."""
    before = bytes(32)
    for place, event in enumerate(events, 1):
        before = sha256(b"\0", before, place.to_bytes(8, "big"), record_of(event))
        if event["seq"] != place or before.hex() != event["hash"]:
            return place
    return None


# RFC 9162 section 2.1.


def leaf_hash(entry):
    return sha256(b"\0", entry)


def split(n):
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def root_of(entries):
    if not entries:
        return sha256()
    if len(entries) == 1:
        return leaf_hash(entries[0])
    k = split(len(entries))
    return sha256(b"\1", root_of(entries[:k]), root_of(entries[k:]))


def root_by_inclusion(leaf, index, size, path):
    """Section 2.1.3.2, from the top."""
    if size == 1:
        return leaf if not path else None
    if not path:
        return None
    k = split(size)
    if index < k:
        left, right = root_by_inclusion(leaf, index, k, path[:-1]), path[-1]
    else:
        left, right = path[-1], root_by_inclusion(leaf, index - k, size - k, path[:-1])
    return sha256(b"\1", left, right) if left and right else None


def consistency_path(m, entries, is_whole=True):
    """Section 2.1.4.1: the hashes of a proof between two sizes."""
    n = len(entries)
    if m == n:
        return [] if is_whole else [root_of(entries)]
    k = split(n)
    if m <= k:
        return consistency_path(m, entries[:k], is_whole) + [root_of(entries[k:])]
    return consistency_path(m - k, entries[k:], False) + [root_of(entries[:k])]


# Ed25519 (RFC 8032 section 5.1), verification alone.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)


def x_of(y, sign):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_1 % P
    if (x * x - square) % P:
        raise ValueError("not on the curve")
    return P - x if x % 2 != sign else x


def decode(encoded):
    number = int.from_bytes(encoded, "little")
    y = number & (2**255 - 1)
    x = x_of(y, number >> 255)
    return (x, y, 1, x * y % P)


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    i, j, k, m = f - e, h - g, h + g, f + e
    return (i * j % P, k * m % P, j * k % P, i * m % P)


def times(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = (x_of(BASE_Y, 0), BASE_Y, 1, x_of(BASE_Y, 0) * BASE_Y % P)


def verifies(key, message, signature):
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % L
    left, right = times(s, BASE), add(decode(r), times(h, decode(key)))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


# C2SP signed-note and tlog-checkpoint.


def open_checkpoint(note, keys):
    """Origin, size and root of a checkpoint with a signature of one of the keys; None without one."""
    text, signatures = note.rsplit("\n\n", 1)
    text += "\n"
    origin, size, root = text.split("\n")[:3]
    for line in signatures.splitlines():
        mark, name, encoded = line.split(" ")
        signature = base64.b64decode(encoded, validate=True)
        for key in keys:
            key_id = sha256(name.encode() + b"\n\x01" + key)[:4]
            if mark == "\u2014" and name == origin and signature[:4] == key_id:
                if verifies(key, text.encode(), signature[4:]):
                    return origin, int(size), base64.b64decode(root, validate=True)
    return None


def main():
    question = json.load(sys.stdin)
    events = question["events"]
    entries = [bytes.fromhex(event["hash"]) for event in events]
    keys = [base64.urlsafe_b64decode(x + "=") for x in question["keys"]]
    checkpoints = []
    for note in question["checkpoints"]:
        origin, size, root = open_checkpoint(note, keys)
        checkpoints.append({"origin": origin, "size": size, "fits": root_of(entries[:size]) == root})
    proofs = []
    for proof in question["proofs"]:
        _, size, root = open_checkpoint(proof["checkpoint"]["note"], keys)
        path = [bytes.fromhex(node) for node in proof["proof"]]
        leaf = leaf_hash(bytes.fromhex(proof["hash"]))
        proofs.append(root_by_inclusion(leaf, proof["seq"] - 1, size, path) == root)
    consistencies = [
        [node.hex() for node in consistency_path(c["from"], entries[: c["to"]])] == c["proof"]
        for c in question["consistencies"]
    ]
    forged = [open_checkpoint(note, keys) is None for note in question["forged"]]
    bad = [chain_of(some) for some in question["changed"]]
    answer = {"chain": chain_of(events), "checkpoints": checkpoints, "proofs": proofs}
    print(json.dumps({**answer, "consistencies": consistencies, "forged": forged, "bad": bad}))


main()
