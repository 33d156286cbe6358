package asking

import (
	"context"
	"net/url"
	"os"
	"strings"

	"plannerd/internal/cli"
	"plannerd/sdk/go/client"
)

// tokenVariable is the environment variable of the token, for which there is no flag.
const tokenVariable = "PLANNERD_TOKEN"

// Server returns a client of the server at an address, which a flag names. The token is that of the file,
// which is read again for each request, or without one of the environment variable PLANNERD_TOKEN.
func Server(env *cli.Environment, flag, address, tokenFile, agent string) (*client.Client, error) {
	if err := NoSecrets(flag, address); err != nil {
		return nil, err
	}
	c := client.Config{UserAgent: "plannerd " + agent}
	if tokenFile != "" || env.Getenv(tokenVariable) != "" {
		c.Token = func(context.Context) (string, error) { return Secret(env, tokenFile, tokenVariable) }
	}
	return client.New(address, c)
}

// Secret reads a file, or without one an environment variable. Its errors have nothing of it.
func Secret(env *cli.Environment, file, variable string) (string, error) {
	text := env.Getenv(variable)
	if file != "" {
		read, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		text = string(read)
	}
	return strings.TrimRight(text, "\r\n"), nil
}

// NoSecrets refuses an address that has a secret, which others could read on the command line.
func NoSecrets(flag, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return cli.Usagef("%s: it is no address such as http://localhost:9090", flag)
	case u.User != nil:
		return cli.Usagef("%s: an address must not have a user or a password, which others could read", flag)
	}
	return nil
}
