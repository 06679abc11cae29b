package cloudinit_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"testing"
)

// mimePart is a part of user-data, read by the rules of mail.
type mimePart struct {
	Kind, Name, Body string
}

// splitMultipart splits a MIME multi-part without any code of the package.
func splitMultipart(t testing.TB, data []byte) []mimePart {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	var all []mimePart
	for r := multipart.NewReader(message.Body, parameters["boundary"]); ; {
		next, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		var body io.Reader = next
		if next.Header.Get("Content-Transfer-Encoding") == "base64" {
			body = base64.NewDecoder(base64.StdEncoding, next)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		kind, _, err := mime.ParseMediaType(next.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, mimePart{kind, next.FileName(), string(text)})
	}
}

// partBody returns the body of the part with the name.
func partBody(t testing.TB, data []byte, name string) string {
	t.Helper()
	for _, p := range splitMultipart(t, data) {
		if p.Name == name {
			return p.Body
		}
	}
	t.Fatalf("no part is named %s", name)
	return ""
}
