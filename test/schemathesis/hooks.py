"""Schemathesis 4.32.5 looks in answers for addresses to follow, and ends at a text that only begins like one (`http://[`)."""

from schemathesis.engine import observations

find = observations._same_origin_path


def find_or_none(value, origin):
    try:
        return find(value, origin)
    except ValueError:
        return None


observations._same_origin_path = find_or_none
