package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"plannerd/internal/lab/process"
)

// server is a running plannerd serve.
type server struct {
	*client
	process *process.Process
	bounded string // what its memory is bounded by
}

// serve starts the program on a free port. limit > 0 bounds its memory, in bytes.
// It is stopped at the latest when the context ends.
func (b *bench) serve(ctx context.Context, database string, limit int64, arguments []string) (*server, error) {
	c := process.Config{Program: []string{b.program}, Database: database, Arguments: arguments, LogFolder: b.dir}
	bounded := "nothing"
	if limit > 0 {
		c.Environment = []string{"GOMEMLIMIT=" + strconv.FormatInt(limit/8*7, 10)}
		bounded = "GOMEMLIMIT at 7/8 of it"
		if prlimit, err := exec.LookPath("prlimit"); err == nil {
			c.Program = []string{prlimit, "--as=" + strconv.FormatInt(limit, 10), "--", b.program}
			bounded = "RLIMIT_AS (all address space), and " + bounded
		}
	}
	process, err := process.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return &server{newClient(process.URL), process, bounded}, nil
}

// stop ends the process: kindly, then by force.
func (s *server) stop() error {
	s.http.CloseIdleConnections()
	return s.process.Stop()
}

// footprint is what a process has of it, in bytes; zero where the system does not
// tell.
type footprint struct {
	peak    int64 // VmHWM, since the start
	present int64 // VmRSS
}

// memory asks the system.
func (s *server) memory() footprint {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Pid()))
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
