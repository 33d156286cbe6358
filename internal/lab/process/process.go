// Package process runs plannerd serve as a process of its own, for benchmarks
// and tests that look at the service from outside.
package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Patience is how long a process may take to start, and to stop.
const Patience = 40 * time.Second

// Build makes the program from the module that the working directory is in and returns its path in
// the folder. Where PLANNERD_TEST_PROGRAM names one, which the packages of a run share, it is that.
func Build(ctx context.Context, folder string) (string, error) { return BuildSkewed(ctx, folder, 0) }

// BuildSkewed is Build; the program's clock is ahead of the machine's by so much.
func BuildSkewed(ctx context.Context, folder string, skew time.Duration) (string, error) {
	path := filepath.Join(folder, "plannerd")
	if skew != 0 {
		path += skew.String()
	} else if shared := os.Getenv("PLANNERD_TEST_PROGRAM"); shared != "" { //nolint:forbidigo // support for tests
		return shared, nil
	}
	if output, err := exec.CommandContext(ctx, "go", "build", "-ldflags", "-X main.clockSkew="+skew.String(), "-o", path,
		"plannerd/cmd/plannerd").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, output)
	}
	return path, nil
}

// Config says what to run.
type Config struct {
	// Program is its path.
	Program string
	// Database is the URL of the store.
	Database string
	// Arguments are more of plannerd serve.
	Arguments []string
	// LogFolder is where the file of its standard error is made.
	LogFolder string
}

// Process is a running plannerd serve.
type Process struct {
	// URL is where it listens, without a slash at the end.
	URL     string
	command *exec.Cmd
	log     string
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// Start starts the program on a free port of loopback and waits until it serves.
// It is stopped at the latest when the context ends; Stop or Kill must be called
// all the same.
func Start(ctx context.Context, c Config) (*Process, error) {
	arguments := append([]string{"serve", "--listen=127.0.0.1:0", "--database-url=" + c.Database}, c.Arguments...)
	command := exec.CommandContext(ctx, c.Program, arguments...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = Patience
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(c.LogFolder, "serve-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own handle
	command.Stderr = log
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &Process{command: command, log: log.Name()}
	line, err := firstLine(output)
	p.URL = address.FindString(line)
	if err != nil || p.URL == "" {
		return nil, errors.Join(fmt.Errorf("plannerd serve did not say where it is: %q", line), p.Stop(), p.Said())
	}
	return p, nil
}

// firstLine reads one line, for as long as Patience lasts, and leaves the rest to
// be read by nobody.
func firstLine(r io.ReadCloser) (string, error) {
	timer := time.AfterFunc(Patience, func() { _ = r.Close() })
	defer timer.Stop()
	return bufio.NewReader(r).ReadString('\n')
}

// PeakMemory is the most memory that the process ever held, in bytes, as Linux counts it.
func (p *Process) PeakMemory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	var kib int64
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	_, err = fmt.Sscanf(after, "%d kB", &kib)
	return kib << 10, err
}

// Stop ends the process: kindly, then by force.
func (p *Process) Stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	kill := time.AfterFunc(Patience, func() { _ = p.command.Process.Kill() })
	defer kill.Stop()
	if err := p.command.Wait(); err != nil {
		return fmt.Errorf("plannerd serve: %w", err)
	}
	return nil
}

// Pause stops the process by SIGSTOP until Resume is called. Of one that has ended both do nothing.
func (p *Process) Pause() { _ = p.command.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() { _ = p.command.Process.Signal(syscall.SIGCONT) }

// Kill ends the process by SIGKILL and returns when it is gone. The error says
// that it had ended before, or otherwise.
func (p *Process) Kill() error {
	if err := p.command.Process.Kill(); err != nil {
		return errors.Join(fmt.Errorf("plannerd serve: %w", err), p.command.Wait(), p.Said())
	}
	err := p.command.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); !ok || status.Signaled() && status.Signal() == syscall.SIGKILL {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("plannerd serve ended before it was killed: %w", err), p.Said())
}

// Said returns the end of the process's log as an error.
func (p *Process) Said() error {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
	text = bytes.TrimSpace(text[max(0, len(text)-2000):])
	return fmt.Errorf("its log ends:\n%s", text)
}
