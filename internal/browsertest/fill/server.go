package fill

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"plannerd/internal/access"
	"plannerd/internal/service"
)

// Build makes the program and returns its path in the folder.
func Build(ctx context.Context, folder string) (string, error) { return service.Build(ctx, folder) }

// Config says how to serve.
type Config struct {
	// Program is the path of plannerd.
	Program string
	// Folder is where the database and the log are made.
	Folder string
	// Secured has the server ask for tokens.
	Secured bool
	// Arguments are more of plannerd serve.
	Arguments []string
}

// Server is a running plannerd serve with a SQLite database of its own.
type Server struct {
	*service.Process
	// Tokens are secrets of callers of all operators, each called as its role; nil
	// where the server asks for none.
	Tokens map[access.Role]string
}

// Roles are those of the tokens, the one that may most last.
var Roles = []access.Role{access.Viewer, access.Engine, access.Approver, access.Admin}

// Serve starts a server on a free port of loopback. It must be stopped, and goes
// on when the context ends.
func Serve(ctx context.Context, c Config) (*Server, error) {
	folder, err := os.MkdirTemp(c.Folder, "server-")
	if err != nil {
		return nil, err
	}
	s, arguments := new(Server), c.Arguments
	if c.Secured {
		file := filepath.Join(folder, "tokens")
		if s.Tokens, err = writeTokens(file); err != nil {
			return nil, err
		}
		arguments = append(arguments[:len(arguments):len(arguments)], "--tokens-file="+file)
	}
	s.Process, err = service.Start(context.WithoutCancel(ctx), service.Config{
		Program: []string{c.Program}, Database: "sqlite:" + filepath.Join(folder, "plannerd.db"),
		Arguments: arguments, LogFolder: folder,
	})
	return s, err
}

// writeTokens makes the file of new tokens.
func writeTokens(path string) (map[access.Role]string, error) {
	tokens := map[access.Role]string{}
	var lines strings.Builder
	for _, role := range Roles {
		tokens[role] = access.NewSecret()
		caller := access.Caller{Name: string(role), Role: role, Operators: []string{access.Everywhere}}
		lines.WriteString(access.Line(tokens[role], caller) + "\n")
	}
	return tokens, os.WriteFile(path, []byte(lines.String()), 0o600)
}
