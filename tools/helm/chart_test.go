// Package helm_test holds the chart in deploy against the program that it runs and the types of
// what it makes. Helm is pinned in this module.
package helm_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const (
	root = "../.."
	// least are the values that must be given, with SQLite.
	least = "tokens: {existingSecret: plannerd-tokens}\nsqlite: {enabled: true}\ninsecureHTTP: true\n"
	// postgres has a part of every kind.
	postgres = `
database: {existingSecret: plannerd-database}
tokens: {existingSecret: plannerd-tokens}
tls: {existingSecret: plannerd-tls}
webhooks: {existingSecret: plannerd-webhooks, secretKeys: [chat, pager]}
extraArgs: [--log-level=debug]
memoryBudget: 1500MiB
networkPolicy: {enabled: true, from: [{namespaceSelector: {}}]}
metrics:
  serviceMonitor: {enabled: true, tokenSecret: {name: plannerd-viewer}}
  rules: {enabled: true}
  dashboard: {enabled: true}
`
)

// helm renders the chart with values.
func helm(t *testing.T, values string) (string, error) {
	t.Helper()
	command := exec.Command("go", "tool", "helm", "template", "plannerd", root+"/deploy/plannerd", "--values", "-")
	command.Stdin = strings.NewReader(values)
	var messages strings.Builder
	command.Stderr = &messages
	text, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, messages.String())
	}
	return string(text), err
}

// render returns what the chart makes, by kind. Members that Kubernetes does not know are errors.
func render(t *testing.T, values string) map[string]any {
	t.Helper()
	text, err := helm(t, values)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]any{}
	for _, part := range regexp.MustCompile(`(?m)^---\n`).Split(text, -1)[1:] {
		kind := regexp.MustCompile(`(?m)^kind: (\w+)$`).FindStringSubmatch(part)
		if kind == nil {
			t.Fatalf("no kind:\n%s", part)
		}
		into := map[string]any{
			"Deployment": &apps.Deployment{}, "Service": &core.Service{}, "ServiceAccount": &core.ServiceAccount{},
			"PersistentVolumeClaim": &core.PersistentVolumeClaim{}, "ConfigMap": &core.ConfigMap{},
			"PodDisruptionBudget": &policy.PodDisruptionBudget{}, "NetworkPolicy": &networking.NetworkPolicy{},
			"ServiceMonitor": &monitoring.ServiceMonitor{}, "PrometheusRule": &monitoring.PrometheusRule{},
		}[kind[1]]
		if err := yaml.UnmarshalStrict([]byte(part), into); err != nil {
			t.Fatalf("%s: %v", kind[1], err)
		}
		made[kind[1]] = into
	}
	return made
}

// TestKinds: what is asked for is made, and nothing else.
func TestKinds(t *testing.T) {
	always := []string{"Deployment", "Service", "ServiceAccount"}
	for name, c := range map[string]struct {
		values string
		kinds  []string
	}{
		"SQLite":                {least, append(slices.Clone(always), "PersistentVolumeClaim")},
		"SQLite without volume": {least + "replicas: 3\nsqlite: {enabled: true, persistent: false}", always},
		"Postgres": {postgres, append(slices.Clone(always), "ConfigMap", "NetworkPolicy", "PodDisruptionBudget",
			"PrometheusRule", "ServiceMonitor")},
	} {
		t.Run(name, func(t *testing.T) {
			made := render(t, c.values)
			for _, kind := range c.kinds {
				if made[kind] == nil {
					t.Errorf("no %s", kind)
				}
			}
			if len(made) != len(c.kinds) {
				t.Errorf("%d kinds, not %d", len(made), len(c.kinds))
			}
			d := made["Deployment"].(*apps.Deployment)
			sqlite := name != "Postgres"
			if one := *d.Spec.Replicas == 1; one != sqlite || (d.Spec.Strategy.Type == "Recreate") != sqlite {
				t.Errorf("%d replicas, strategy %q", *d.Spec.Replicas, d.Spec.Strategy.Type)
			}
			pod, own := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
			if !*pod.SecurityContext.RunAsNonRoot || !*own.SecurityContext.ReadOnlyRootFilesystem ||
				*own.SecurityContext.AllowPrivilegeEscalation || *pod.AutomountServiceAccountToken ||
				own.Resources.Limits.Memory().IsZero() {
				t.Errorf("it may do too much: %+v", pod)
			}
			for _, e := range own.Env {
				if e.Value != "" && e.Value != "sqlite:/data/plannerd.db" {
					t.Errorf("%s is in the clear", e.Name)
				}
			}
		})
	}
}

// TestRefusals: what is missing or misspelt is said before anything is made.
func TestRefusals(t *testing.T) {
	for values, want := range map[string]string{
		"{}": "tokens.existingSecret is needed",
		"tokens: {existingSecret: t}\ninsecureHTTP: true":                              "either database.existingSecret",
		least + "database: {existingSecret: d}":                                        "either database.existingSecret",
		"tokens: {existingSecret: t}\nsqlite: {enabled: true}":                         "either tls.existingSecret",
		least + "metrics: {serviceMonitor: {enabled: true}}":                           "tokenSecret.name",
		least + "replcias: 3":                                                          "'replcias' not allowed",
		least + "resources: {limits: {memory: null}}":                                  "memory",
		least + "image: {digest: 'sha256:12'}":                                         "digest",
		strings.Replace(least, "{existingSecret: plannerd-tokens}", "{token: abc}", 1): "'token' not allowed",
	} {
		if _, err := helm(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", values, err, want)
		}
	}
}

// TestAlerts: the rules are those of the file, and the job that they ask for is that of the monitor.
func TestAlerts(t *testing.T) {
	made := render(t, postgres)
	text, err := os.ReadFile(root + "/deploy/plannerd/files/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	rules := made["PrometheusRule"].(*monitoring.PrometheusRule)
	var want monitoring.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(text, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(rules.Spec, want) || len(want.Groups) == 0 {
		t.Error("the rules are not those of the file")
	}
	monitor, service := made["ServiceMonitor"].(*monitoring.ServiceMonitor), made["Service"].(*core.Service)
	if job := service.Labels[monitor.Spec.JobLabel]; !strings.Contains(string(text), `up{job="`+job+`"}`) {
		t.Errorf("the alerts do not ask for the job %q", job)
	}
	board := made["ConfigMap"].(*core.ConfigMap)
	if original, err := os.ReadFile(root + "/deploy/plannerd/files/grafana.json"); err != nil ||
		strings.TrimSpace(board.Data["plannerd.json"]) != strings.TrimSpace(string(original)) {
		t.Errorf("the dashboard is not that of the file: %v", err)
	}
}

// TestPage: the chart takes the values that the documentation shows.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(shown) == 0 {
		t.Fatal("the page shows no values")
	}
	for _, values := range shown {
		render(t, values[1])
	}
}

// TestServes starts the program as the pod does, with files in other places: it takes all flags, and
// answers the probes.
func TestServes(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "plannerd")
	if text, err := exec.Command("go", "-C", root, "build", "-o", program, "./cmd/plannerd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for name, values := range map[string]string{"http": least, "https": postgres} {
		t.Run(name, func(t *testing.T) {
			pod := render(t, values)["Deployment"].(*apps.Deployment).Spec.Template.Spec.Containers[0]
			listen, folder := freeAddress(t), t.TempDir()
			secrets(t, program, folder)
			place := strings.NewReplacer("/etc/plannerd", folder, "--listen=:8080", "--listen="+listen,
				"sqlite:/data", "sqlite:"+folder)
			var args []string
			for _, arg := range pod.Args {
				args = append(args, place.Replace(arg))
			}
			command := exec.Command(program, args...)
			var log strings.Builder
			command.Stderr = &log
			for _, e := range pod.Env {
				value := place.Replace(e.Value)
				switch {
				case e.ValueFrom == nil:
				case e.Name == "PLANNERD_WEBHOOK":
					value = "http://127.0.0.1:1/chat,http://127.0.0.1:1/pager"
				default:
					value = "sqlite:" + folder + "/plannerd.db" // where the Secret names Postgres
				}
				command.Env = append(command.Env, e.Name+"="+value)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = command.Wait() }()
			defer func() { _ = command.Process.Kill() }()
			for _, probe := range []*core.Probe{pod.LivenessProbe, pod.ReadinessProbe} {
				url := strings.ToLower(string(probe.HTTPGet.Scheme)) + "://" + listen + probe.HTTPGet.Path
				if err := answered(url); err != nil {
					t.Errorf("%v\n%s", err, log.String())
				}
			}
		})
	}
}

// answered waits until an address answers 200, for at most 20 seconds.
func answered(url string) (err error) {
	// The certificate is the test's own; kubelet does not look at it either.
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var response *http.Response
		if response, err = client.Get(url); err == nil {
			_ = response.Body.Close()
			if err = fmt.Errorf("%s answers %s", url, response.Status); response.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return err
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// secrets writes what the Secrets of the pod hold.
func secrets(t *testing.T, program, folder string) {
	t.Helper()
	tokens, err := exec.Command(program, "token", "new", "--name", "root", "--role", "admin").Output()
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, leaf, leaf, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	secret := []byte("whsec_" + strings.Repeat("QUJD", 10) + "\n")
	for name, text := range map[string][]byte{
		"tokens/tokens": tokens, "webhooks/0": secret, "webhooks/1": secret,
		"tls/tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		"tls/tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
