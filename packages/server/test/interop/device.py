"""A device without any Holdfast code: makes a key, enrolls with it, verifies its credential and polls its policy."""

import base64
import hashlib
import json
import sys
import time
import urllib.error
import urllib.request
import uuid

from jwcrypto.jwk import JWK, JWKSet
from jwcrypto.jws import JWS
from jwcrypto.jwt import JWT

question = json.load(sys.stdin.buffer)
public_url = question["public_url"]
host = public_url.split("//")[1]


def proof(key, method, path, token, **changed):
    """A proof of RFC 9449 section 4.2; it names the public URL, whatever the socket's address is."""
    claims = {
        "htm": method,
        "htu": public_url + path.split("?")[0],
        "iat": int(time.time()),
        "jti": str(uuid.uuid4()),
        "ath": base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode(),
        **changed,
    }
    header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": key.export_public(as_dict=True)}
    signed = JWS(json.dumps(claims))
    signed.add_signature(key, protected=json.dumps(header))
    return signed.serialize(compact=True)


def ask(method, path, token, dpop, body=None, headers=None):
    """(status, headers, JSON or None)"""
    request = urllib.request.Request(
        question["url"] + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Host": host,
            "Authorization": "Bearer " + token,
            **({"DPoP": dpop} if dpop else {}),
            **({} if body is None else {"Content-Type": "application/json"}),
            **(headers or {}),
        },
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=20) as answer:
            return answer.status, answer.headers, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as answer:
        return answer.code, answer.headers, json.loads(answer.read() or b"null")


key = JWK.generate(kty="EC", crv="P-256")
stranger = JWK.generate(kty="EC", crv="P-256")
token = question["token"]
device = {"name": "independent", "platform": "linux"}
status, _, enrolled = ask("POST", "/v1/enroll", token, proof(key, "POST", "/v1/enroll", token), {"device": device})
if status != 201:
    sys.exit(f"enrollment refused: {status} {enrolled}")
credential = enrolled["credential"]


def get(path, dpop=None, headers=None):
    return ask("GET", path, credential, dpop or proof(key, "GET", path, credential), headers=headers)


digest = "/v1/policy/digest"
trust_status, _, trust = get("/v1/trust/anchors")
keys = JWKSet()
for published in trust["jwks"]["keys"]:
    keys.add(JWK(**published))


def claims_of(text, checks):
    """Verifies signature, exp and nbf (RFC 7519) besides the named claims. Throws."""
    return json.loads(JWT(jwt=text, key=keys, algs=["ES256"], check_claims=checks).claims)


first_status, first_headers, first = get(digest)
unchanged_status, _, _ = get(digest, headers={"If-None-Match": first_headers["ETag"]})
bundle_status, _, bundle = get("/v1/policy/bundle")
refused = {
    "no proof": ask("GET", digest, credential, None),
    "the key of another": get(digest, proof(stranger, "GET", digest, credential)),
    "another method": get(digest, proof(key, "POST", digest, credential)),
    "another path": get(digest, proof(key, "GET", "/v1/policy/bundle", credential)),
    "another host": get(digest, proof(key, "GET", digest, credential, htu="http://elsewhere.test" + digest)),
    "another token": get(digest, proof(key, "GET", digest, token)),
    "yesterday": get(digest, proof(key, "GET", digest, credential, iat=int(time.time()) - 86400)),
    "tomorrow": get(digest, proof(key, "GET", digest, credential, iat=int(time.time()) + 86400)),
}
json.dump(
    {
        "device_id": enrolled["device_id"],
        "thumbprint": key.thumbprint(),
        "claims": claims_of(credential, {"iss": public_url, "sub": enrolled["device_id"], "exp": None}),
        "pointer": claims_of(first["pointer"], {"exp": None}),
        "statuses": {
            "trust": trust_status,
            "digest": first_status,
            "unchanged": unchanged_status,
            "bundle": bundle_status,
        },
        "etag": first_headers["ETag"],
        "digest": first["digest"],
        "bundle_digest": bundle["digest"],
        "refused": {why: answer[0] for why, answer in refused.items()},
    },
    sys.stdout,
)
