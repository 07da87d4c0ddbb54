"""Checks the schemas of an OpenAPI 3.1 document (JSON Schema 2020-12), and answers against them."""

import copy
import json
import re
import sys
from datetime import datetime

from jsonschema import Draft202012Validator, FormatChecker, RefResolver

question = json.load(sys.stdin.buffer)
document = question["openapi"]
formats = FormatChecker(formats=())


@formats.checks("date-time", raises=ValueError)
def is_date_time(value):
    if not isinstance(value, str):
        return True
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", value):
        raise ValueError(value)
    datetime.strptime(value[:19], "%Y-%m-%dT%H:%M:%S")
    return True


def schemas_of(node, path=""):
    """Yields every schema of the document, except those within other schemas: the outer one checks them."""
    if isinstance(node, list):
        for index, member in enumerate(node):
            yield from schemas_of(member, f"{path}/{index}")
    elif isinstance(node, dict):
        for name, member in node.items():
            if name == "schema":
                yield f"{path}/{name}", member
            elif name == "schemas":
                yield from ((f"{path}/{name}/{key}", schema) for key, schema in member.items())
            elif name != "example":
                yield from schemas_of(member, f"{path}/{name}")


def references_of(node):
    if isinstance(node, list):
        for member in node:
            yield from references_of(member)
    elif isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for member in node.values():
            yield from references_of(member)


def problem_of(schema):
    try:
        Draft202012Validator.check_schema(schema)
    except Exception as error:  # Also a pattern that Python cannot compile.
        return str(error).splitlines()[0]
    return None


resolver = RefResolver.from_schema(document)


def validator_of(method, path, status):
    answers = document["paths"][path][method]["responses"]
    answer = answers[str(status)]
    if "$ref" in answer:
        _, answer = resolver.resolve(answer["$ref"])
    (content,) = answer["content"].values()
    schema = content["schema"]
    return Draft202012Validator(schema, resolver=resolver, format_checker=formats)


def spoiled(answer):
    """Yields the answer with one member too many, and without each of its members."""
    yield {**answer, "surprise": 1}
    for name in answer:
        yield {key: value for key, value in answer.items() if key != name}
    items = answer.get("items")
    if items and isinstance(items[0], dict):
        more = copy.deepcopy(answer)
        more["items"][0]["surprise"] = 1
        yield more


def judge(sample):
    validator = validator_of(sample["method"], sample["path"], sample["status"])
    errors = [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(sample["answer"])]
    accepted = [validator.is_valid(changed) for changed in spoiled(sample["answer"])]
    return {"errors": errors, "spoiled": len(accepted), "accepted": sum(accepted)}


schemas = dict(schemas_of(document))
problems = {path: problem for path, problem in ((p, problem_of(s)) for p, s in schemas.items()) if problem}
references = sorted(set(references_of(document)))
for reference in references:
    resolver.resolve(reference)
broken = problem_of({"type": "objekt"}) is not None
json.dump(
    {
        "schemas": len(schemas),
        "problems": problems,
        "references": references,
        "tells_broken": broken,
        "samples": [judge(sample) for sample in question["samples"]],
    },
    sys.stdout,
)
