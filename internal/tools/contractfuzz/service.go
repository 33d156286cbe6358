package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"plannerd/internal/service"
)

// limits keep what a request may cost small, so that many fit in a run.
var limits = []string{
	"--max-plan-time=2s", "--body-timeout=500ms", "--max-body-bytes=8388608", "--max-rows=100000", "--memory-budget=512MiB",
}

// fuzzService runs against the server of the flags, or one of its own. There may
// be a report beside an error.
func fuzzService(ctx context.Context, o options, noted io.Writer) (_ *report, err error) {
	if o.url != "" {
		return fuzzAt(ctx, o, o.url, "", noted)
	}
	folder, err := os.MkdirTemp("", "plannerd-contractfuzz-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if o.program == "" {
		if o.program, err = service.Build(ctx, folder); err != nil {
			return nil, err
		}
	}
	if o.database == "" {
		o.database = "sqlite:" + filepath.Join(folder, "plannerd.db")
	}
	p, err := service.Start(context.WithoutCancel(ctx), service.Config{Program: []string{o.program}, Database: o.database, Arguments: limits, LogFolder: folder})
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopped := p.Stop(); stopped != nil {
			err = errors.Join(err, stopped, p.Said())
		}
	}()
	return fuzzAt(ctx, o, p.URL, p.Log(), noted)
}

// fuzzAt runs against a server; the file of its log may be unknown.
func fuzzAt(ctx context.Context, o options, url, log string, noted io.Writer) (*report, error) {
	t := newRemote(url, o.clients, o.patience)
	defer t.client.CloseIdleConnections()
	x, err := newRun(o, t, t.url, noted)
	if err != nil {
		return nil, err
	}
	watching, cease := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- x.watch(watching, log) }()
	err = x.fuzz(ctx)
	cease()
	if interrupted := ctx.Err(); interrupted != nil && errors.Is(err, interrupted) {
		err = nil // what there is by now is the result
	}
	return &x.report, errors.Join(err, <-ended)
}

// watch reads the file of the log until the context ends, and then its rest.
func (x *run) watch(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // it was read only
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var begun []byte // a line
	for last := false; !last; {
		select {
		case <-ctx.Done():
			last = true
		case <-ticker.C:
		}
		text, err := io.ReadAll(file)
		if err != nil {
			return fmt.Errorf("reading the server's log: %w", err)
		}
		text = append(begun, text...)
		whole := bytes.LastIndexByte(text, '\n') + 1
		for line := range bytes.Lines(text[:whole]) {
			x.logged(line)
		}
		begun = bytes.Clone(text[whole:])
	}
	return nil
}

// logged looks at a line of the server's log.
func (x *run) logged(line []byte) {
	var kind string
	switch {
	case bytes.Contains(line, []byte("panic")):
		kind = "a panic in the log"
	case bytes.Contains(line, []byte("request failed")) && !bytes.Contains(line, []byte(`"status":503`)):
		kind = "a failed request in the log"
	case bytes.Contains(line, []byte(`"level":"ERROR"`)) && !bytes.Contains(line, []byte(`"status":503`)), bytes.Contains(line, []byte("DATA RACE")):
		kind = "an error in the log"
	default:
		return
	}
	entry, _ := object(line)
	id, _ := entry["request_id"].(string)
	x.mu.Lock()
	defer x.mu.Unlock()
	command := "request " + id
	if r := x.report.recent[id]; r != nil {
		command = r.command(x.base)
	}
	x.report.add(finding{operation: "log", kind: kind, detail: excerpt(bytes.TrimSpace(line)), command: command})
}
