# SPDX-License-Identifier: BSD-3-Clause
"""A bucket of an S3 service, also with storage classes that must be restored before they are read.

Credentials come from the places that every S3 program knows (environment, ``~/.aws``, instance
roles); the settings hold none. Uploads and downloads are split into parts and sent by threads
(s3transfer). An object of S3 is absent or whole. Reads of ranges name the version of the first
answer (``If-Match``), so that an object that was replaced meanwhile is an error.

Whether an object of an archive class can be read is judged by its ``Restore`` header alone: absent,
ongoing, or done until a date. The date is compared with the server's clock.
"""

import concurrent.futures
import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar

import boto3
import botocore.config
import botocore.exceptions
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig

from tailrace.archive.target import KEY, Target, TargetError
from tailrace.archive.targets.settings import checked, masked

SETTINGS: dict[str, type | tuple[type, ...]] = {
    "bucket": str,
    "prefix": str,
    "endpoint_url": str,
    "region": str,
    "profile": str,
    "storage_class": str,
    "archive_classes": list,
    "restore_days": int,
    "restore_tier": str,
    "part_bytes": int,
    "threads": int,
    "addressing": str,
    "ca_bundle": str,
    "attempts": int,
    "timeout_s": (int, float),
}
#: A restored copy that expires sooner than this is asked for again before it is read.
EXPIRES_SOON = timedelta(minutes=30)
RANGE = re.compile(r"bytes (\d+)-(\d+)/.*")
MAX_PARTS = 10_000
READ_TRIES = 4
ABSENT = ("404", "NoSuchKey", "NotFound")
REFUSED = (
    *("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "401", "403", "Forbidden"),
    *("ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestTimeTooSkewed"),
)
FULL = (
    *("QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "507", "NoSpaceLeft"),
    "InsufficientCapacity",
)
FAILURES = (
    botocore.exceptions.ClientError,
    botocore.exceptions.BotoCoreError,
    Boto3Error,
    OSError,
    # What boto3 raises on an answer whose headers were cut off.
    ValueError,
    LookupError,
)
BROKEN = (botocore.exceptions.HTTPClientError, botocore.exceptions.IncompleteReadError)
UNREACHED = (*BROKEN, botocore.exceptions.ConnectionError)
T = TypeVar("T")


class S3(Target):
    """The settings are those of `SETTINGS`; ``bucket`` is required."""

    kind = "s3"

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        super().__init__(name)
        given = checked(self, settings, SETTINGS, ("bucket",))
        self.bucket: str = given["bucket"]
        prefix = given.get("prefix", "").strip("/")
        self.prefix = f"{prefix}/" if prefix else ""
        self.endpoint: str | None = given.get("endpoint_url")
        self.storage_class: str | None = given.get("storage_class")
        self.archive_classes = set(given.get("archive_classes", ("GLACIER", "DEEP_ARCHIVE")))
        self.restore_days: int = given.get("restore_days", 7)
        self.restore_tier: str = given.get("restore_tier", "Standard")
        self.part_bytes: int = given.get("part_bytes", 64 << 20)
        self.threads: int = given.get("threads", 8)
        self.client = self._connected(given)
        self._versions: dict[str, str] = {}

    def _connected(self, given: dict[str, Any]) -> Any:
        timeout_s = given.get("timeout_s", 60)
        options: dict[str, Any] = {
            "retries": {"mode": "standard", "max_attempts": given.get("attempts", 5)},
            "connect_timeout": min(timeout_s, 20),
            "read_timeout": timeout_s,
            "max_pool_connections": self.threads + 2,
            "s3": {"addressing_style": given.get("addressing", "auto")},
        }
        if self.endpoint:
            # Other servers than Amazon's often refuse the trailing checksums of newer clients.
            options["request_checksum_calculation"] = "when_required"
            options["response_checksum_validation"] = "when_required"
        try:
            session = boto3.Session(
                profile_name=given.get("profile"), region_name=given.get("region")
            )
            if self.endpoint and not session.region_name:
                session = boto3.Session(profile_name=given.get("profile"), region_name="us-east-1")
            return session.client(
                "s3",
                endpoint_url=self.endpoint,
                verify=given.get("ca_bundle"),
                config=botocore.config.Config(**options),
            )
        except FAILURES as error:
            raise self.fail("", masked(str(error))) from error

    def put(self, key: str, source: Path) -> None:
        size = source.stat().st_size
        extra = {"StorageClass": self.storage_class} if self.storage_class else {}
        self._do(
            key,
            lambda: self.client.upload_file(
                str(source), self.bucket, self._name(key), extra, Config=self._transfer(size)
            ),
        )
        stored = self.size(key)
        if stored != size:
            raise self.fail(key, f"the server holds {stored} bytes of {size} after the upload")

    def get(self, key: str, to: Path) -> None:
        size = self.size(key)
        if size is None:
            raise self.fail(key, "no such object")
        self._do(
            key,
            lambda: self.client.download_file(
                self.bucket, self._name(key), str(to), Config=self._transfer(size)
            ),
        )

    def read(self, key: str, offset: int, length: int) -> bytes:
        """Read a range; one that breaks is continued from there."""
        read = bytearray()
        tries = 0
        while True:
            before = len(read)
            try:
                self._read_on(key, offset, length, read)
                return bytes(read)
            except BROKEN as error:
                # Broken in the body, which botocore does not repeat.
                tries = 0 if len(read) > before else tries + 1
                if tries == READ_TRIES:
                    raise self._failed(key, error) from error

    def _read_on(self, key: str, offset: int, length: int, read: bytearray) -> None:
        if len(read) >= length:
            return
        first, last = offset + len(read), offset + length - 1
        match = {"IfMatch": self._versions[key]} if key in self._versions else {}
        answer = self._do(
            key,
            lambda: self.client.get_object(
                Bucket=self.bucket, Key=self._name(key), Range=f"bytes={first}-{last}", **match
            ),
            outside={},
        )
        if not answer:
            return
        at = RANGE.fullmatch(answer.get("ContentRange", ""))
        if at is None and answer["ResponseMetadata"]["HTTPStatusCode"] == 200:
            answer["Body"].close()
            raise self.fail(key, "the server did not return the requested range")
        # A connection that breaks within the headers looks like an answer with fewer of them.
        if at is None or int(at[1]) != first or "ETag" not in answer:
            raise self._broken()
        expected = len(read) + int(at[2]) - first + 1
        with contextlib.closing(answer["Body"]) as body:
            for block in body.iter_chunks(1 << 20):
                self._versions[key] = answer["ETag"]
                read += block
        if len(read) != expected:
            raise self._broken()

    def _broken(self) -> Exception:
        error: Exception = botocore.exceptions.ConnectionClosedError(
            endpoint_url=self.endpoint or "S3"
        )
        return error

    def size(self, key: str) -> int | None:
        answer = self._head(key)
        return None if answer is None else int(answer["ContentLength"])

    def keys(self) -> Iterator[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=self.prefix
        )
        following = iter(pages)
        while (page := self._do("", lambda: next(following, None))) is not None:
            for entry in page.get("Contents", ()):
                key = entry["Key"][len(self.prefix) :]
                if KEY.fullmatch(key):
                    yield key

    def delete(self, key: str) -> None:
        """Remove the object and the parts of uploads of this key that were interrupted."""
        name = self._name(key)
        self._do(key, lambda: self.client.delete_object(Bucket=self.bucket, Key=name))
        try:
            uploads = self.client.list_multipart_uploads(Bucket=self.bucket, Prefix=name)
            for upload in uploads.get("Uploads", ()):
                if upload["Key"] == name:
                    self.client.abort_multipart_upload(
                        Bucket=self.bucket, Key=name, UploadId=upload["UploadId"]
                    )
        except FAILURES:
            # Some services or policies forbid it; the bucket's own rules then expire the parts.
            return

    def is_staged(self, keys: Iterable[str]) -> dict[str, bool]:
        wanted = list(keys)
        return dict(zip(wanted, self._each(self._readable, wanted), strict=True))

    def stage(self, keys: Iterable[str]) -> None:
        self._each(self._restore, list(keys))

    def _readable(self, key: str) -> bool:
        answer = self._head(key)
        return answer is not None and self._can_be_read(answer)

    def _can_be_read(self, answer: dict[str, Any]) -> bool:
        archived = answer.get("StorageClass") in self.archive_classes
        if not archived and "ArchiveStatus" not in answer:
            return True
        restore = answer.get("Restore", "")
        expiry = re.search(r'expiry-date="([^"]*)"', restore)
        if 'ongoing-request="false"' not in restore:
            return False
        now = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
        return expiry is None or _date(expiry[1], now) - now > EXPIRES_SOON

    def _restore(self, key: str) -> None:
        """Ask for a restore where one is needed; one that is under way is no error."""
        answer = self._head(key)
        if answer is None or self._can_be_read(answer):
            return
        request: dict[str, Any] = {"GlacierJobParameters": {"Tier": self.restore_tier}}
        if "ArchiveStatus" not in answer:  # Intelligent tiering moves objects back for good.
            request["Days"] = self.restore_days
        try:
            self.client.restore_object(
                Bucket=self.bucket, Key=self._name(key), RestoreRequest=request
            )
        except botocore.exceptions.ClientError as error:
            if _code(error) != "RestoreAlreadyInProgress":
                raise self._failed(key, error) from error
        except FAILURES as error:
            raise self._failed(key, error) from error

    def _head(self, key: str) -> dict[str, Any] | None:
        name = self._name(key)
        answer = self._do(
            key, lambda: self.client.head_object(Bucket=self.bucket, Key=name), absent=None
        )
        if answer is None:
            # The answer is the same where the whole bucket is missing.
            self._do(key, lambda: self.client.head_bucket(Bucket=self.bucket))
            return None
        if "ContentLength" not in answer:
            raise self._failed(key, self._broken())
        result: dict[str, Any] = answer
        return result

    def _each(self, call: Callable[[str], T], keys: list[str]) -> list[T]:
        with concurrent.futures.ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(call, keys))

    def _transfer(self, size: int) -> Any:
        part = max(self.part_bytes, -(-size // MAX_PARTS))
        return TransferConfig(
            multipart_threshold=part, multipart_chunksize=part, max_concurrency=self.threads
        )

    def _name(self, key: str) -> str:
        if not KEY.fullmatch(key):
            raise self.fail(key, "is no valid key")
        return self.prefix + key

    def _do(self, key: str, call: Callable[[], Any], **instead: Any) -> Any:
        """Call the service; ``absent`` and ``outside`` replace errors by a value."""
        try:
            return call()
        except botocore.exceptions.ClientError as error:
            if "absent" in instead and _code(error) in ABSENT:
                return instead["absent"]
            if "outside" in instead and _code(error) in ("416", "InvalidRange"):
                return instead["outside"]
            raise self._failed(key, error) from error
        except FAILURES as error:
            raise self._failed(key, error) from error

    def _failed(self, key: str, error: Exception) -> TargetError:
        """Return the error to raise: what it means for the user, then the service's own words."""
        said = masked(str(error.__cause__ or error))
        code = _code(error)
        where = self.endpoint or "the service"
        if code in REFUSED:
            reason = f"{where} refused the credentials or denied access: {said}"
        elif code == "InvalidObjectState":
            reason = f"is in an archive class and not restored (stage it first): {said}"
        elif code in ("412", "PreconditionFailed"):
            reason = "was replaced while it was read"
        elif code in FULL:
            reason = f"no space left or quota reached: {said}"
        elif code in ABSENT:
            reason = f"no such object or bucket: {said}" if key else f"no bucket: {said}"
        elif isinstance(error, botocore.exceptions.NoCredentialsError):
            reason = "no credentials found in the environment, ~/.aws or the instance's role"
        elif isinstance(error, UNREACHED):
            reason = f"{where} does not answer: {said}"
        else:
            reason = said
        return self.fail(key, reason)


def _code(error: Exception) -> str:
    """Return the service's code, also of an error that s3transfer wrapped."""
    for known in (error, error.__cause__, error.__context__):
        if isinstance(known, botocore.exceptions.ClientError):
            return str(known.response.get("Error", {}).get("Code", ""))
    return ""


def _date(text: str, otherwise: datetime) -> datetime:
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return otherwise
