"""What names a mutation, and what does not."""

from __future__ import annotations

from uuid import uuid4

import pytest

from rami_kit.errors import InvalidRequest
from rami_kit.request_ids import require_request_id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not-a-uuid",
        "00000000-0000-1000-8000-000000000000",  # version 1
        "00000000-0000-4000-0000-000000000000",  # no variant of ours
        "{8f14e45f-ceea-4a7b-9c1d-2f3a4b5c6d7e}",
        "8f14e45fceea4a7b9c1d2f3a4b5c6d7e",
        "8f14e45f-ceea-4a7b-9c1d-2f3a4b5c6d7e ",
        "\uff18f14e45f-ceea-4a7b-9c1d-2f3a4b5c6d7e",  # a full-width digit
        "8f14e45f-ceea-4a7b-9c1d-2f3a4b5c6d7e\n",
        "urn:uuid:8f14e45f-ceea-4a7b-9c1d-2f3a4b5c6d7e",
        "x" * 10_000,
    ],
)
def test_a_request_id_is_a_uuid_of_version_4(text: str) -> None:
    with pytest.raises(InvalidRequest):
        require_request_id(text)


def test_the_case_of_a_request_id_does_not_matter() -> None:
    text = str(uuid4())
    assert require_request_id(text.upper()) == require_request_id(text) == text
