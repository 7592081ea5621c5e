"""python3 -m hutch_agent [-e ENTRY] FILE|DIR: the worker of hutch-worker(7)."""
import argparse
import os
import sys


def arguments():
    parser = argparse.ArgumentParser(
        prog="hutch_agent", description="Run the agent in FILE, or in app.py, "
        "agent.py or main.py of DIR, speaking hutch-worker(7) on standard "
        "input and output.")
    parser.add_argument("-e", "--entrypoint", metavar="ENTRY",
                        help="the file in DIR, and :NAME for the app in it")
    parser.add_argument("source", metavar="FILE|DIR")
    return parser.parse_args()


def main():
    args = arguments()
    from . import frameworks, worker
    fds = worker.stand_apart()
    sys.stdout.reconfigure(line_buffering=True)
    frameworks.WORKER = True
    from . import load
    program = load.program(args.source, args.entrypoint)
    status = worker.main(program, *fds)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    os._exit(status)    # threads that were left behind keep nobody waiting


if __name__ == "__main__":
    main()
