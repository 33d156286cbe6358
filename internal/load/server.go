package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience is how long a server may take to start, and to stop.
const patience = 40 * time.Second

// server is a running plannerd serve.
type server struct {
	*client
	command *exec.Cmd
	log     string // file of its standard error
	bounded string // what its memory is bounded by
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// serve starts the program on a free port. limit > 0 bounds its memory, in bytes.
// It is stopped at the latest when the context ends.
func (b *bench) serve(ctx context.Context, database string, limit int64, arguments []string) (*server, error) {
	program, bounded := []string{b.program}, "nothing"
	environment := os.Environ()
	if limit > 0 {
		environment = append(environment, "GOMEMLIMIT="+strconv.FormatInt(limit/8*7, 10))
		bounded = "GOMEMLIMIT at 7/8 of it"
		if prlimit, err := exec.LookPath("prlimit"); err == nil {
			program = []string{prlimit, "--as=" + strconv.FormatInt(limit, 10), "--", b.program}
			bounded = "RLIMIT_AS (all address space), and " + bounded
		}
	}
	program = append(program, "serve", "--listen=127.0.0.1:0", "--database-url="+database)
	command := exec.CommandContext(ctx, program[0], append(program[1:], arguments...)...)
	command.Env = environment
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = patience
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(b.dir, "serve-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own handle
	command.Stderr = log
	if err := command.Start(); err != nil {
		return nil, err
	}
	s := &server{command: command, log: log.Name(), bounded: bounded}
	line, err := firstLine(output)
	found := address.FindString(line)
	if err != nil || found == "" {
		return nil, errors.Join(fmt.Errorf("plannerd serve did not say where it is: %q", line), s.stop(), s.said())
	}
	s.client = newClient(found)
	return s, nil
}

// firstLine reads one line, for as long as patience lasts, and leaves the rest to
// be read by nobody.
func firstLine(r io.ReadCloser) (string, error) {
	timer := time.AfterFunc(patience, func() { _ = r.Close() })
	defer timer.Stop()
	return bufio.NewReader(r).ReadString('\n')
}

// stop ends the process: kindly, then by force.
func (s *server) stop() error {
	if s.client != nil {
		s.http.CloseIdleConnections()
	}
	_ = s.command.Process.Signal(syscall.SIGTERM) // it may have ended
	kill := time.AfterFunc(patience, func() { _ = s.command.Process.Kill() })
	defer kill.Stop()
	if err := s.command.Wait(); err != nil {
		return fmt.Errorf("plannerd serve: %w", err)
	}
	return nil
}

// said returns the end of the process's log as an error.
func (s *server) said() error {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err
	}
	text = bytes.TrimSpace(text[max(0, len(text)-2000):])
	return fmt.Errorf("its log ends:\n%s", text)
}

// footprint is what a process has of it, in bytes; zero where the system does not
// tell.
type footprint struct {
	peak    int64 // VmHWM, since the start
	present int64 // VmRSS
}

// memory asks the system.
func (s *server) memory() footprint {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		return footprint{}
	}
	return parseMemory(string(text))
}

// parseMemory reads what /proc/<pid>/status says.
func parseMemory(status string) (m footprint) {
	for line := range strings.Lines(status) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if len(fields) != 2 || fields[1] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmHWM":
			m.peak = n << 10
		case "VmRSS":
			m.present = n << 10
		}
	}
	return m
}
