"""A SAML 2.0 identity provider with pysaml2 and xmlsec1: answers our requests according to our metadata.

Each request is answered in the ways that it names. Without a request, only the provider's metadata is printed.
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
server = Server(config=config)


def answer(target, sign_response, sign_assertion, algorithm="SHA256"):
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


def refuse(target):
    in_response_to, destination = target["in_response_to"], target["destination"]
    no = ValueError("no")
    return str(
        server.create_error_response(in_response_to, destination, no, sign=True, sign_alg=xmldsig.SIG_RSA_SHA256)
    )


ways = {
    "assertion": lambda target: answer(target, False, True),
    "response": lambda target: answer(target, True, False),
    "both": lambda target: answer(target, True, True),
    "sha512": lambda target: answer(target, True, True, "SHA512"),
    "sha1": lambda target: answer(target, True, True, "SHA1"),
    "nothing": lambda target: answer(target, False, False),
    "failure": refuse,
}


def answers(asked):
    request = server.parse_authn_request(asked["request"], BINDING_HTTP_REDIRECT)
    target = server.response_args(request.message, [BINDING_HTTP_POST])
    return {
        "request_id": request.message.id,
        "asked_by": request.message.issuer.text.strip(),
        "target": target["destination"],
        "responses": {way: ways[way](target) for way in asked["ways"]},
    }


json.dump(
    {
        "metadata": str(entity_descriptor(config)),
        "answers": [answers(asked) for asked in question.get("requests", [])],
    },
    sys.stdout,
)
