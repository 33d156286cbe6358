package collecting

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"plannerd/internal/cli"
	"plannerd/internal/cli/asking"
)

// PasswordVariable is the environment variable of the password, for which there is no flag: command
// lines can be read by others on the same machine.
const PasswordVariable = "PLANNERD_COLLECT_PASSWORD"

// Login says as whom a source is asked, and how it is known.
type Login struct {
	User         string `placeholder:"NAME" group:"Access to the source" help:"Name to log in with (default: none)."`
	PasswordFile string `placeholder:"FILE" group:"Access to the source" help:"The file that has the password. For Prometheus without --user it is a bearer token (default: the environment variable PLANNERD_COLLECT_PASSWORD)."`
	TLSCA        string `name:"tls-ca" placeholder:"FILE" group:"Access to the source" help:"Certificates, in PEM, of the authorities that sign the source's (default: those of the system)."`
	TLSCert      string `name:"tls-cert" placeholder:"FILE" group:"Access to the source" help:"Certificate, in PEM, to show to the source (default: none)."`
	TLSKey       string `name:"tls-key" placeholder:"FILE" group:"Access to the source" help:"Private key of --tls-cert (default: none)."`
}

// password is that of the user; empty: there is none.
func (l *Login) password(env *cli.Environment) (string, error) {
	return asking.Secret(env, l.PasswordFile, PasswordVariable)
}

// tls are the settings of a connection.
func (l *Login) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if l.TLSCA != "" {
		text, err := os.ReadFile(l.TLSCA)
		if err != nil {
			return nil, cli.Usagef("--tls-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, cli.Usagef("--tls-ca %s: it has no certificate in PEM", l.TLSCA)
		}
	}
	if (l.TLSCert == "") != (l.TLSKey == "") {
		return nil, cli.Usagef("--tls-cert and --tls-key belong together")
	}
	if l.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(l.TLSCert, l.TLSKey)
		if err != nil {
			return nil, cli.Usagef("--tls-cert: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// maybeTLS are the settings of a connection that is one by TLS if it is asked for; else nil.
func (l *Login) maybeTLS(asked bool) (*tls.Config, error) {
	if !asked && l.TLSCA == "" && l.TLSCert == "" && l.TLSKey == "" {
		return nil, nil
	}
	return l.tls()
}
