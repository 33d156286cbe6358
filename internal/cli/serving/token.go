package serving

import (
	"fmt"

	"plannerd/internal/cli"
	"plannerd/internal/web/access"
)

// TokenNew is the command that makes a token.
type TokenNew struct {
	Name      string `required:"true" placeholder:"NAME" help:"Whose it is: the name in the log, and the actor of what is done to plans. Several tokens may have one name."`
	Role      string `required:"true" enum:"viewer,engine,approver,admin" placeholder:"ROLE" help:"What it is for: viewer reads; engine reads, sends statistics and carries plans out; approver reads and decides on plans; admin does everything, and alone configures and deletes operators."`
	Operators string `default:"*" placeholder:"PATTERNS" help:"Operators that it is for, as patterns: * stands for any characters, ? for one (default *)."`
}

// Run makes a token.
func (c *TokenNew) Run(env *cli.Environment) error {
	caller, err := access.NewCaller(c.Name, c.Role, c.Operators)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	secret := access.NewSecret()
	if _, err := fmt.Fprintln(env.Stdout, access.Line(secret, caller)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stderr, "The token of %s, shown only now:\n%s\n", c.Name, secret)
	return err
}
