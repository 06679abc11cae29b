package manager

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestLogOfSecrets reads a Secret at the highest verbosity that a flag can ask for:
// nothing of it is in the log. A process of its own does so, for logs are set up once.
func TestLogOfSecrets(t *testing.T) {
	const child = "MAASLXD_TEST_LOG_CHILD"
	if os.Getenv(child) != "" {
		readSecretLoudly(t)
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLogOfSecrets$", "-test.v")
	command.Env = append(os.Environ(), child+"=1")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if bytes.Contains(out, []byte("CANARY")) || bytes.Contains(out, []byte(base64.StdEncoding.EncodeToString([]byte("CANARY"))[:7])) {
		t.Errorf("the log shows the Secret:\n%s", out)
	}
	if !bytes.Contains(out, []byte("GET")) {
		t.Errorf("the log shows no request at all:\n%s", out)
	}
}

func readSecretLoudly(t *testing.T) {
	t.Helper()
	answers := map[string]string{
		"/api": `{"kind":"APIVersions","versions":["v1"]}`, "/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","namespaced":true,"kind":"Secret","verbs":["get"]}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if text, ok := answers[r.URL.Path]; ok {
			fmt.Fprint(w, text)
			return
		}
		fmt.Fprintf(w, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"maas-credentials","namespace":"x"},"data":{"apiKey":%q}}`, base64.StdEncoding.EncodeToString([]byte("CANARYkey:a:b")))
	}))
	defer server.Close()
	c := logsv1.NewLoggingConfiguration()
	c.Verbosity = 10
	c.VModule = logsv1.VModuleConfiguration{{FilePattern: "request*", Verbosity: 10}}
	if err := startLogs(c); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(&rest.Config{Host: server.URL, BearerToken: "CANARYtoken"}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var secret corev1.Secret
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "x", Name: "maas-credentials"}, &secret); err != nil || len(secret.Data) != 1 {
		t.Fatalf("%v, %d", err, len(secret.Data))
	}
	klog.Flush()
}
