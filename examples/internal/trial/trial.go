// Package trial is what the examples share that try plannerd: its program, addresses, patience.
package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"time"
)

// BuildPlannerd builds plannerd into a folder, and returns the path of the program. The
// working directory must be that of an example.
func BuildPlannerd(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "plannerd")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/plannerd")
	build.Dir = filepath.Join("..", "..")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building plannerd: %w\n%s", err, said)
	}
	return program, nil
}

// FreeAddresses finds addresses of loopback at which nothing listens.
func FreeAddresses(ctx context.Context, n int) (addresses []string, err error) {
	for range n {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() //nolint:gocritic // after all are found, so that they differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// Patiently tries until something works, or the time is over.
func Patiently(ctx context.Context, most time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
