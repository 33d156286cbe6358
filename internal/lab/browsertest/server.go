package browsertest

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"plannerd/internal/lab/process"
	"plannerd/internal/web/access"
)

// Server is a running plannerd serve with a SQLite database of its own.
type Server struct {
	*process.Process
	// Tokens are secrets of callers of all operators, each called as its role; nil
	// where the server asks for none.
	Tokens map[access.Role]string
}

// roles are those of the tokens.
var roles = []access.Role{access.Viewer, access.Engine, access.Approver, access.Admin}

// startServer starts a server on a free port of loopback, secured if it is to ask for
// tokens. It must be stopped, and goes on when the context ends.
func startServer(ctx context.Context, program string, secured bool) (*Server, error) {
	folder, err := os.MkdirTemp(binary.folder, "server-")
	if err != nil {
		return nil, err
	}
	s := new(Server)
	var arguments []string
	if secured {
		file := filepath.Join(folder, "tokens")
		if s.Tokens, err = writeTokens(file); err != nil {
			return nil, err
		}
		arguments = append(arguments, "--tokens-file="+file)
	}
	s.Process, err = process.Start(context.WithoutCancel(ctx), process.Config{
		Program: program, Database: "sqlite:" + filepath.Join(folder, "plannerd.db"),
		Arguments: arguments, LogFolder: folder,
	})
	return s, err
}

// writeTokens makes the file of new tokens.
func writeTokens(path string) (map[access.Role]string, error) {
	tokens := map[access.Role]string{}
	var lines strings.Builder
	for _, role := range roles {
		tokens[role] = access.NewSecret()
		caller := access.Caller{Name: string(role), Role: role, Operators: []string{access.Everywhere}}
		lines.WriteString(access.Line(tokens[role], caller) + "\n")
	}
	return tokens, os.WriteFile(path, []byte(lines.String()), 0o600)
}
