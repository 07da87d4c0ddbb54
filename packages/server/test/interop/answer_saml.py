"""An identity provider of SAML 2.0, by pysaml2 and xmlsec1: answers our request as our metadata say.

Without a request it says its metadata alone.
"""

import json
import sys
import tempfile
from shutil import which

from saml2 import BINDING_HTTP_POST, BINDING_HTTP_REDIRECT, xmldsig
from saml2.config import IdPConfig
from saml2.metadata import entity_descriptor
from saml2.saml import NAMEID_FORMAT_PERSISTENT, NameID
from saml2.server import Server

question = json.load(sys.stdin.buffer)
folder = tempfile.TemporaryDirectory()


def keep(name, text):
    path = f"{folder.name}/{name}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


endpoint = (question["sso_url"], BINDING_HTTP_REDIRECT)
config = IdPConfig().load(
    {
        "entityid": question["issuer"],
        "xmlsec_binary": which("xmlsec1"),
        "key_file": keep("key.pem", question["key"]),
        "cert_file": keep("certificate.pem", question["certificate"]),
        "metadata": {"inline": [question["sp_metadata"]] if "sp_metadata" in question else []},
        "service": {
            "idp": {
                "endpoints": {"single_sign_on_service": [endpoint]},
                "name_id_format": [NAMEID_FORMAT_PERSISTENT],
                "policy": {"default": {"attribute_restrictions": None}},
            }
        },
    }
)
if "request" not in question:
    json.dump({"metadata": str(entity_descriptor(config))}, sys.stdout)
    sys.exit()
server = Server(config=config)
request = server.parse_authn_request(question["request"], BINDING_HTTP_REDIRECT)
target = server.response_args(request.message, [BINDING_HTTP_POST])


def answer(sign_response, sign_assertion, algorithm="SHA256"):
    return str(
        server.create_authn_response(
            identity=question.get("identity", {"eduPersonAffiliation": ["staff", "admins"], "displayName": "Zoë <&>"}),
            name_id=NameID(format=NAMEID_FORMAT_PERSISTENT, text="zoe-1"),
            authn={"class_ref": "urn:oasis:names:tc:SAML:2.0:ac:classes:Password", "authn_auth": question["issuer"]},
            sign_response=sign_response,
            sign_assertion=sign_assertion,
            sign_alg=getattr(xmldsig, f"SIG_RSA_{algorithm}"),
            digest_alg=getattr(xmldsig, f"DIGEST_{algorithm}"),
            **target,
        )
    )


def failure():
    return str(
        server.create_error_response(
            target["in_response_to"],
            target["destination"],
            ValueError("no"),
            sign=True,
            sign_alg=xmldsig.SIG_RSA_SHA256,
        )
    )


ways = {
    "assertion": lambda: answer(False, True),
    "response": lambda: answer(True, False),
    "both": lambda: answer(True, True),
    "sha512": lambda: answer(True, True, "SHA512"),
    "sha1": lambda: answer(True, True, "SHA1"),
    "nothing": lambda: answer(False, False),
    "failure": failure,
}
json.dump(
    {
        "metadata": str(entity_descriptor(config)),
        "request_id": request.message.id,
        "asked_by": request.message.issuer.text.strip(),
        "target": target["destination"],
        "responses": {way: ways[way]() for way in question.get("ways", ways)},
    },
    sys.stdout,
)
