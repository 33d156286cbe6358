package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeMemory: the budget is what the flag says, and requests feel it.
func TestServeMemory(t *testing.T) {
	s := serve(t, "--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"), "--memory-budget", "192MiB",
		"--memory-wait", "1ms")
	rows := strings.Repeat(`{"key":"`+strings.Repeat("k", 1000)+`","cost":1},`, 60_000)
	answer := s.call(t, "POST", "/v1/what-if", `{"operator":{"instances":1},"keys":[`+strings.TrimSuffix(rows, ",")+`]}`,
		http.StatusRequestEntityTooLarge)
	if detail, _ := answer["detail"].(string); !strings.Contains(detail, "this server gives 50 MiB to one") {
		t.Error(answer)
	}
	s.stop(t)
}
