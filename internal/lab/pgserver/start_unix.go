//go:build unix

package pgserver

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// guardian starts the server and waits on its standard input, which nobody but
// the process that started it holds open: when that process ends, even by
// SIGKILL, the input ends too, and the guardian stops the server and removes its
// files. $1 is the folder of the programs, $2 that of the server, $3 its port,
// $4 are options for its settings. A line of the input names the mode of a restart.
const guardian = `
"$1/pg_ctl" start --wait --silent --pgdata="$2/data" --log="$2/log" \
	--options="-p $3 -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200$4" \
	>"$2/start" 2>&1 && echo started || echo failed
while read -r mode; do
	"$1/pg_ctl" restart --wait --silent --mode="$mode" --pgdata="$2/data" --log="$2/log" \
		>"$2/start" 2>&1 && echo started || echo failed
done
"$1/pg_ctl" stop --silent --mode=immediate --pgdata="$2/data" >"$2/stop" 2>&1
rm -rf "$2"
`

// start starts a server on a free port.
func start(settings []string) (*Server, error) {
	password := rand.Text()
	return launch(password, settings, func(programs, folder string, attributes *syscall.SysProcAttr) error {
		return initialize(programs, folder, password, attributes)
	})
}

// duplicate implements [Server.Copy].
func (s *Server) duplicate(upstream string, settings []string) (*Server, error) {
	source, err := url.Parse(s.url)
	if err != nil {
		return nil, errNoURL
	}
	arguments := []string{"--wal-method=stream", "--checkpoint=fast", "--no-sync"}
	if upstream != "" {
		source.Host = upstream
		arguments = append(arguments, "--write-recovery-conf")
	}
	password, _ := source.User.Password()
	return launch(password, settings, func(programs, folder string, attributes *syscall.SysProcAttr) error {
		program := filepath.Join(programs, "pg_basebackup")
		if _, err := os.Stat(program); err != nil {
			program = "pg_basebackup"
		}
		return run(folder, attributes, program,
			append(arguments, "--dbname="+source.String(), "--pgdata="+filepath.Join(folder, "data"))...)
	})
}

// fill makes the files of a server in folder/data.
type fill func(programs, folder string, attributes *syscall.SysProcAttr) error

// launch starts a server on a free port. Another process may take the port in
// between: then the next one is tried.
func launch(password string, settings []string, fill fill) (*Server, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	attributes, err := unprivileged()
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		server, err := launchOnce(programs, password, settings, attributes, fill)
		if err == nil || attempt == 3 {
			return server, err
		}
	}
}

func launchOnce(programs, password string, settings []string, attributes *syscall.SysProcAttr, fill fill) (
	_ *Server, err error,
) {
	folder, err := makeFolder(attributes.Credential)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(folder) // the guardian may have been first
		}
	}()
	if err := fill(programs, folder, attributes); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	guard, err := runGuardian(programs, folder, port, settings, attributes)
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", password, port)
	return &Server{url: url, guard: guard}, nil
}

// findPrograms returns the folder of initdb and pg_ctl: that of the PATH's, or
// of the newest version where Debian installs them.
func findPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	slices.SortFunc(found, func(a, b string) int { return majorVersion(b) - majorVersion(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		found = slices.Insert(found, 0, path)
	}
	for _, path := range found {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			continue
		}
		folder := filepath.Dir(path)
		if _, err := os.Stat(filepath.Join(folder, "pg_ctl")); err == nil {
			return folder, nil
		}
	}
	return "", ErrNotInstalled
}

// majorVersion of /usr/lib/postgresql/15/bin/initdb is 15.
func majorVersion(path string) int {
	version, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return version
}

// unprivileged makes processes leave this one's process group, so that a key
// pressed there reaches the guardian only as the end of this one, and give up
// root, as whom the server refuses to run.
func unprivileged() (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return attributes, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return attributes, nil
	}
	return nil, fmt.Errorf("the server refuses to run as root, and there is no account postgres or nobody")
}

func makeFolder(owner *syscall.Credential) (string, error) {
	folder, err := os.MkdirTemp("", "plannerd-postgres-")
	if err != nil {
		return "", err
	}
	return folder, giveAway(folder, owner)
}

// giveAway makes owner the owner of a file; nil leaves it.
func giveAway(path string, owner *syscall.Credential) error {
	if owner == nil {
		return nil
	}
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}

// initialize creates the server's files.
func initialize(programs, folder, password string, attributes *syscall.SysProcAttr) error {
	passwordFile := filepath.Join(folder, "password")
	if err := os.WriteFile(passwordFile, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	if err := giveAway(passwordFile, attributes.Credential); err != nil {
		return err
	}
	return run(folder, attributes, filepath.Join(programs, "initdb"), "--pgdata="+filepath.Join(folder, "data"),
		"--username=postgres", "--pwfile="+passwordFile, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
}

// run runs a program to its end.
func run(folder string, attributes *syscall.SysProcAttr, program string, arguments ...string) error {
	command := exec.CommandContext(context.Background(), program, arguments...)
	command.Dir, command.SysProcAttr = folder, attributes
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, output)
	}
	return nil
}

// guard is a running guardian. It keeps the guardian's input open: a pipe that
// nothing refers to is closed by the garbage collector.
type guard struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
	log     string
}

// runGuardian returns when the server accepts connections.
func runGuardian(programs, folder string, port int, settings []string,
	attributes *syscall.SysProcAttr) (*guard, error) {
	var options strings.Builder
	for _, s := range settings {
		options.WriteString(" -c " + s)
	}
	command := exec.CommandContext(context.Background(), "/bin/sh", "-c", guardian, "sh",
		programs, folder, strconv.Itoa(port), options.String())
	command.Dir, command.SysProcAttr = folder, attributes
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	g := &guard{command, input, bufio.NewReader(output), filepath.Join(folder, "log")}
	if err := g.started(); err != nil {
		g.stop()
		return nil, fmt.Errorf("starting %s on port %d: %w", programs, port, err)
	}
	return g, nil
}

// started waits for the guardian's word on a start.
func (g *guard) started() error {
	if answer, err := g.output.ReadString('\n'); err == nil && answer == "started\n" {
		return nil
	}
	log, _ := os.ReadFile(g.log)
	return fmt.Errorf("the server did not start\n%s", log)
}

func (g *guard) restart(mode string) error {
	if _, err := io.WriteString(g.input, mode+"\n"); err != nil {
		return err
	}
	return g.started()
}

// stop ends the guardian, and with it the server.
func (g *guard) stop() {
	_ = g.input.Close()
	_ = g.command.Wait()
}
