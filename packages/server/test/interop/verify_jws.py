"""Verifies compact and general JWS with a JWKS and says what they hold; then with one bit flipped, which must fail."""

import base64
import hashlib
import json
import sys

from jwcrypto.common import JWException
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS


def canonical(value):
    """RFC 8785 for the contents that Holdfast signs: all numbers are integers of at most 53 bits."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float) or (isinstance(value, int) and abs(value) >= 2**53):
        raise ValueError(f"not in our value space: {value}")
    return json.dumps(value, ensure_ascii=False)


def digest(value):
    return "sha256:" + hashlib.sha256(canonical(value).encode()).hexdigest()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def parts_of(message):
    """(protected, payload, signature) of a message with one signature."""
    if isinstance(message, str):
        return message.split(".")
    (only,) = message["signatures"]
    return [only["protected"], message["payload"], only["signature"]]


def with_parts(message, parts):
    if isinstance(message, str):
        return ".".join(parts)
    return json.dumps({"payload": parts[1], "signatures": [{"protected": parts[0], "signature": parts[2]}]})


def public_key(published):
    return JWK(**{name: published[name] for name in ("kty", "crv", "x", "y") if name in published})


def verify(text, key):
    token = JWS()
    token.deserialize(text)
    token.verify(key, alg="ES256")
    return token


def flipped(message, key):
    """Number of variants with one flipped bit that were tried, and number of those that were refused."""
    tried = refused = 0
    parts = parts_of(message)
    for which, part in enumerate(parts):
        data = decode(part)
        for position in sorted({0, 1, len(data) // 2, len(data) - 1}):
            changed = bytearray(data)
            changed[position] ^= 1
            tried += 1
            try:
                verify(with_parts(message, parts[:which] + [encode(changed)] + parts[which + 1 :]), key)
            except (JWException, ValueError):
                refused += 1
    return {"tried": tried, "refused": refused}


def judge(message, keys):
    parts = parts_of(message)
    header = json.loads(decode(parts[0]))
    by_kid = {key["kid"]: key for key in keys}
    published = by_kid[header["kid"]]
    key = public_key(published)
    token = verify(with_parts(message, parts), key)
    others = [other for kid, other in by_kid.items() if kid != header["kid"]]
    accepted_by_others = 0
    for other in others:
        try:
            verify(with_parts(message, parts), public_key(other))
            accepted_by_others += 1
        except JWException:
            pass
    payload = json.loads(token.payload)
    return {
        "header": header,
        "purpose": published["holdfast_purpose"],
        "thumbprint": key.thumbprint(),
        "payload": payload,
        "is_canonical": canonical(payload).encode() == token.payload,
        "content_digest": digest(payload["content"]) if "content" in payload else None,
        "variant_digests": {name: digest(content) for name, content in payload.get("variants", {}).items()},
        "accepted_by_others": accepted_by_others,
        "flipped": flipped(message, key),
    }


question = json.load(sys.stdin.buffer)
keys = question["jwks"]["keys"]
json.dump(
    {
        "messages": {name: judge(message, keys) for name, message in question["messages"].items()},
        "device_thumbprints": [JWK(**jwk).thumbprint() for jwk in question["device_keys"]],
        "documents": [canonical(document) for document in question["documents"]],
    },
    sys.stdout,
)
