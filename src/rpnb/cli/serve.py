"""`rpnb serve`: predictions and late labels over HTTP."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rpnb.cli.options import positive

_DAY = 86_400.0


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Serve predictions over HTTP, and learn from labels that arrive later, by id. "
        "Everything that is acknowledged is on disk. Requires pip install "
        "'rpnb[serve]'."
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the log")
    _declare_address(parser)
    _declare_maintenance(parser)
    _declare_limits(parser)
    _declare_kafka(parser)
    parser.add_argument(
        "--log-requests",
        action="store_true",
        help="log each request, not only failures",
    )
    parser.set_defaults(run=run)


def _declare_address(parser: argparse.ArgumentParser) -> None:
    """Declare where the service listens, and for whom."""
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; any address but the loopback needs --token-file "
        "(default: 127.0.0.1)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8000,
        help="port to listen on; 0 picks a free port and writes it to the log "
        "(default: 8000)",
    )
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="file of client tokens"
    )
    parser.add_argument(
        "--add-token",
        nargs=2,
        metavar=("NAME", "SCOPES"),
        help="add a token with some of the scopes predict,learn,admin to the token "
        "file, print it once, and exit",
    )


def _declare_maintenance(parser: argparse.ArgumentParser) -> None:
    """Declare what is done to the log instead of serving it."""
    parser.add_argument(
        "--check",
        action="store_true",
        help="verify the log and the snapshots by replaying everything, and exit, with "
        "code 1 if anything is damaged",
    )
    parser.add_argument(
        "--set-aside",
        action="store_true",
        help="with --check, while the service is stopped: set aside events that cannot "
        "be replayed, so that the model can learn again; they stay in the log",
    )
    parser.add_argument(
        "--put-back",
        type=positive,
        metavar="EVENT",
        help="while the service is stopped: put back an event that was set aside, and "
        "exit",
    )
    parser.add_argument(
        "--backup",
        type=Path,
        metavar="DIR",
        help="copy the log to another folder, even while the service runs, and exit",
    )


def _declare_limits(parser: argparse.ArgumentParser) -> None:
    """Declare how much the service keeps and accepts."""
    parser.add_argument(
        "--keep-log",
        type=positive,
        metavar="DAYS",
        help="delete events that are older than this and included in a snapshot "
        "(default: keep all)",
    )
    parser.add_argument(
        "--max-waiting",
        type=positive,
        metavar="N",
        help="maximum number of rows per model that wait for labels; beyond it, the "
        "oldest are dropped (default: 100000)",
    )
    parser.add_argument(
        "--max-age",
        type=positive,
        metavar="DAYS",
        help="days after which a row without a label is dropped (default: 30)",
    )
    parser.add_argument(
        "--max-bytes",
        type=positive,
        metavar="N",
        help="maximum size of a request body in bytes (default: 67108864)",
    )
    parser.add_argument(
        "--max-memory",
        type=positive,
        metavar="MB",
        help="maximum memory of all concurrent requests in MB; a request that does not "
        "fit gets status 503 (default: 1024)",
    )
    parser.add_argument(
        "--max-state",
        type=positive,
        metavar="N",
        help="maximum size of a model's state, in numbers of 8 bytes (default: "
        "50000000)",
    )
    parser.add_argument(
        "--max-in-flight",
        type=positive,
        metavar="N",
        help="maximum number of concurrent requests (default: 512)",
    )
    parser.add_argument(
        "--snapshot-rows",
        type=positive,
        metavar="N",
        default=50_000,
        help="write a snapshot of a model after this many learned rows (default: "
        "50000)",
    )


def _declare_kafka(parser: argparse.ArgumentParser) -> None:
    """Declare topics of Kafka that are read."""
    parser.add_argument(
        "--kafka",
        metavar="BROKERS",
        help="read rows and labels from Kafka topics, each exactly once; addresses of "
        "brokers, separated by commas (requires pip install 'rpnb[kafka]')",
    )
    parser.add_argument(
        "--kafka-topic",
        action="append",
        default=[],
        metavar="TOPIC=MODEL",
        help="a topic and the model that learns its messages; may be repeated",
    )
    parser.add_argument(
        "--kafka-config",
        type=Path,
        metavar="FILE",
        help="file with settings for librdkafka, such as those for TLS: lines like "
        "security.protocol=SSL",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve, or perform one of the chores."""
    from rpnb.cli import CommandError

    try:
        from rpnb.serve.log import DAMAGE, LogError
        from rpnb.serve.server import run as serve
        from rpnb.serve.tokens import TokenFileError
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'rpnb[serve]'") from error
    try:
        if arguments.add_token is not None:
            return _add_token(arguments)
        if arguments.set_aside:
            _set_aside(arguments)
        if arguments.check:
            return _check(arguments.folder)
        if arguments.put_back is not None:
            return _put_back(arguments.folder, arguments.put_back)
        if arguments.backup is not None:
            return _backup(arguments.folder, arguments.backup)
        return serve(_options(arguments))
    except (LogError, TokenFileError, OSError) as error:
        raise CommandError(str(error)) from error
    except DAMAGE as error:
        raise CommandError(f"the log is damaged: {error}") from error


def _options(arguments: argparse.Namespace) -> Any:
    from rpnb.serve.limits import Limits
    from rpnb.serve.server import Options
    from rpnb.serve.tokens import read_tokens
    from rpnb.serve.upkeep import Schedule

    changed = {
        name: value
        for name in ("max_waiting", "max_bytes", "max_in_flight", "max_state")
        if (value := getattr(arguments, name)) is not None
    }
    limits = replace(Limits(), **changed)
    if arguments.max_memory is not None:
        limits = replace(limits, max_memory=int(arguments.max_memory * 2**20))
    if arguments.max_age is not None:
        limits = replace(limits, max_age=arguments.max_age * _DAY)
    keep = None if arguments.keep_log is None else arguments.keep_log * _DAY
    path = arguments.token_file
    return Options(
        arguments.folder,
        arguments.host,
        arguments.port,
        None if path is None else read_tokens(path),
        limits,
        Schedule(snapshot_rows=arguments.snapshot_rows, keep_events=keep),
        arguments.log_requests,
        _kafka(arguments),
    )


def _kafka(arguments: argparse.Namespace) -> Any:
    """Return the source of messages; None without --kafka."""
    from rpnb.cli import CommandError
    from rpnb.serve.kafka.source import KafkaOptions

    if arguments.kafka is None:
        if arguments.kafka_topic or arguments.kafka_config is not None:
            raise CommandError("--kafka-topic and --kafka-config need --kafka BROKERS")
        return None
    topics = {}
    for each in arguments.kafka_topic:
        topic, _, model = each.partition("=")
        if not topic or not model:
            raise CommandError(
                f"--kafka-topic must be TOPIC=MODEL, such as rows=parcels, got {each!r}"
            )
        topics[topic] = model
    if not topics:
        raise CommandError("--kafka needs --kafka-topic TOPIC=MODEL")
    settings = {}
    if arguments.kafka_config is not None:
        lines = arguments.kafka_config.read_text(encoding="utf-8").splitlines()
        for line in lines:
            name, sign, value = line.partition("=")
            if sign and not line.startswith("#"):
                settings[name.strip()] = value.strip()
    return KafkaOptions(arguments.kafka, topics, settings)


def _add_token(arguments: argparse.Namespace) -> int:
    from rpnb.cli import CommandError
    from rpnb.serve.tokens import add_token

    if arguments.token_file is None:
        raise CommandError("--add-token needs --token-file")
    sys.stdout.write(add_token(arguments.token_file, *arguments.add_token) + "\n")
    return 0


def _check(folder: Path) -> int:
    from rpnb.serve.maintenance import check

    all_sound = True
    for sound, line in check(folder):
        sys.stdout.write(f"{'ok     ' if sound else 'DAMAGED'} {line}\n")
        all_sound &= sound
    return 0 if all_sound else 1


def _set_aside(arguments: argparse.Namespace) -> None:
    from rpnb.cli import CommandError
    from rpnb.serve.maintenance import set_aside
    from rpnb.serve.server import only_one

    if not arguments.check:
        raise CommandError("--set-aside needs --check")
    with only_one(arguments.folder):
        for line in set_aside(arguments.folder):
            sys.stdout.write(f"aside   {line}\n")


def _put_back(folder: Path, event: int) -> int:
    from rpnb.serve.maintenance import put_back
    from rpnb.serve.server import only_one

    with only_one(folder):
        sys.stdout.write(put_back(folder, event) + "\n")
    return 0


def _backup(folder: Path, target: Path) -> int:
    from rpnb.serve.maintenance import backup

    backup(folder, target)
    sys.stdout.write(f"copied to {target}\n")
    return 0
