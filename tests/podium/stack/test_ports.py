import subprocess
import sys

from podium.stack.run import ports

CHOOSES = (
    "import sys; from podium.stack.run import ports; print(*ports.choose({}), flush=True); input()"
)


def test_ports_that_nobody_has_bound_yet_are_not_handed_out_again():
    handed_out = [port for _ in range(20) for port in ports.choose(3)]
    assert len(set(handed_out)) == 60


def test_processes_that_choose_at_the_same_time_choose_different_ports():
    script = CHOOSES.format(100)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", script], **pipes) for _ in range(5)]
    chosen = [process.stdout.readline().split() for process in processes]
    for process in processes:
        process.communicate("\n")
    assert [len(set(some)) for some in chosen] == [100] * 5
    assert len({port for some in chosen for port in some}) == 500


def test_wanted_ports_are_kept_only_where_all_of_them_are_free():
    first, second = ports.choose(2)
    assert ports.choose(2, [first, second]) == [first, second]
    with ports.socket.socket() as taken:
        taken.bind((ports.HOST, first))
        taken.listen()
        assert not {first, second} & set(ports.choose(2, [first, second]))
