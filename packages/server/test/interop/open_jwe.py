"""Opens sealed secrets (JWE) with a key-encryption key; null if the key is wrong."""

import json
import sys

from jwcrypto.common import JWException
from jwcrypto.jwe import JWE
from jwcrypto.jwk import JWK


def unseal(sealed, key):
    token = JWE(algs=["A256KW", "A256GCM"])
    token.deserialize(sealed)
    try:
        token.decrypt(key)
    except JWException:
        return None
    return json.loads(token.payload)


question = json.load(sys.stdin.buffer)
kek = JWK(kty="oct", k=question["kek"])
json.dump([unseal(sealed, kek) for sealed in question["sealed"]], sys.stdout)
