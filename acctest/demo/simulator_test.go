package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStartSimulator(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		script string // empty: there is no program
		err    string
	}{
		"Up":       {"It prints its exports and stays.", `echo "export MAAS_API_URL=http://127.0.0.1:1/MAAS MAAS_API_KEY=a:b:c"; exec sleep 60`, ""},
		"BadWorld": {"What it says on standard error reaches the user.", `echo "no such field: hots" >&2; exit 1`, "no such field: hots"},
		"Other":    {"Another program of that name.", `echo hello; exec sleep 60`, `its first line is "hello"`},
		"NotBuilt": {"A missing program is built by make.", "", "run make build"},
	}
	for name, tc := range cases {
		// One after the other: a fork of one while another writes its script
		// makes that "text file busy" (https://go.dev/issue/22315).
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "maassim")
			if tc.script != "" {
				if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tc.script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			s, err := startSimulator(t.Context(), program, "world.json")
			wantError(t, tc.reason, err, tc.err)
			if err != nil {
				return
			}
			s.stop()
			if err := syscall.Kill(s.cmd.Process.Pid, 0); err == nil {
				t.Errorf("%s\nprocess %d is still there after stop", tc.reason, s.cmd.Process.Pid)
			}
		})
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/_sim/instances":
			_, _ = w.Write([]byte(`[{"host":"lxd-a","name":"web-1","more":1}]`))
		case "/_sim/journal":
			_, _ = w.Write([]byte(`{"routes":[{"route":"GET machines/","calls":7,"failed":1}],"connections":3}`))
		}
	}))
	defer server.Close()
	s := &simulator{root: server.URL}
	instances, err := s.instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]instance{{Host: "lxd-a", Name: "web-1"}}, instances); diff != "" {
		t.Errorf("instances: -want +got:\n%s", diff)
	}
	calls, err := s.journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := printCalls(&got, calls); err != nil {
		t.Fatal(err)
	}
	want := "CALLS  FAILED  ROUTE\n7      1       GET machines/\n7      1       total, over 3 connections\n"
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("journal: -want +got:\n%s", diff)
	}
}

func TestLookFails(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := (&simulator{root: server.URL}).instances(t.Context())
	wantError(t, "An answer that is no list proves nothing.", err, "404")
	wantError(t, "A run that made no call proves nothing.", printCalls(new(bytes.Buffer), calls{}), "journal is empty")
}
