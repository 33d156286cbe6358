// Package trial is what the examples share that try plannerd: its program.
package trial

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
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
