package cloudinit

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"mime"
	"strings"
)

// writeMultipart writes one MIME multi-part. The boundary depends only on the content. So
// the same parts give the same bytes, and a plan does not change by itself.
func writeMultipart(parts ...part) []byte {
	sum := sha256.New()
	encoded := make([][]byte, len(parts))
	for i, p := range parts {
		encoded[i] = p.encode()
		sum.Write(encoded[i])
	}
	boundary := "maaslxd-" + hex.EncodeToString(sum.Sum(nil)[:16])
	var out bytes.Buffer
	// cloud-init recognizes a multi-part by "MIME-Version:" in its first 4096 bytes.
	fmt.Fprintf(&out, "Content-Type: multipart/mixed; boundary=%q\nMIME-Version: 1.0\n", boundary)
	for _, each := range encoded {
		fmt.Fprintf(&out, "\n--%s\n%s", boundary, each)
	}
	fmt.Fprintf(&out, "\n--%s--\n", boundary)
	return out.Bytes()
}

// encode returns the part with its headers, without a boundary.
func (p part) encode() []byte {
	var out bytes.Buffer
	encoding, body := "7bit", p.body
	if !isPlain(p.body) {
		encoding, body = "base64", foldBase64(p.body)
	}
	fmt.Fprintf(&out, "Content-Type: %s; charset=\"utf-8\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: %s\n", p.kind, encoding)
	if p.name != "" {
		fmt.Fprintf(&out, "Content-Disposition: %s\n", mime.FormatMediaType("attachment", map[string]string{"filename": p.name}))
	}
	for _, name := range carriedHeaders {
		if value := p.headers[name]; value != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	out.WriteString("\n")
	out.Write(body)
	return out.Bytes()
}

// isPlain reports whether the text needs no encoding: it is ASCII, in lines that mail
// allows. Python's reader garbles other text unless it is encoded.
func isPlain(body []byte) bool {
	for line := range bytes.Lines(body) {
		if len(line) > 998 {
			return false
		}
	}
	return !bytes.ContainsFunc(body, func(r rune) bool { return r > 0x7e || r < ' ' && r != '\n' && r != '\t' })
}

// foldBase64 returns base64 in lines of 76 characters.
func foldBase64(body []byte) []byte {
	text := base64.StdEncoding.EncodeToString(body)
	var lines []string
	for len(text) > 76 {
		lines, text = append(lines, text[:76]), text[76:]
	}
	return []byte(strings.Join(append(lines, text), "\n"))
}
