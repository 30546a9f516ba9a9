# Runs a program on a terminal of its own, types what it is told, and prints all that appears.
import fcntl, json, os, pty, struct, sys, termios

spec = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execvpe(spec["program"], [spec["program"], *spec["args"]], spec["env"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, spec["columns"], 0, 0))
shown = b""
typed = list(spec["type"])
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    shown += data
    if typed and typed[0]["after"].encode() in shown:
        os.write(fd, typed.pop(0)["text"].encode())
_, status = os.waitpid(pid, 0)
code = os.waitstatus_to_exitcode(status)
sys.stdout.write(json.dumps({"code": code, "shown": shown.decode("utf-8", "replace")}))
