package gomaas

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

func TestTokens(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.Account.CreateAuthorisationToken("second"))
		key := strings.Join([]string{made.ConsumerKey, made.TokenKey, made.TokenSecret}, ":")
		name := func(token entity.AuthorisationTokenListItem) string { return token.Name }
		wantContains(t, "the tokens", names(must(c.Account.ListAuthorisationTokens()), name), "second", true)
		mustSucceed(c.Account.UpdateTokenName("third", key))
		wantContains(t, "the tokens", names(must(c.Account.ListAuthorisationTokens()), name), "third", true)
		mustSucceed(c.Account.DeleteAuthorisationToken(made.TokenKey))
		wantContains(t, "the tokens", names(must(c.Account.ListAuthorisationTokens()), name), "third", false)
	})
}

func TestUsersMade(t *testing.T) {
	startClient(t, func(c *client.Client) {
		must(c.Users.Create(&entity.UserParams{UserName: "user2", Password: "p", Email: "user2@example.com"}))
		wantSame(t, "the address", must(c.User.Get("user2")).Email, "user2@example.com")
		mustSucceed(c.User.Delete(&entity.UserDeleteParams{UserName: "user2"}))
		_, err := c.User.Get("user2")
		wantNotFound(t, "user", err)
	})
}

func TestSSHKeys(t *testing.T) {
	startClient(t, func(c *client.Client) {
		public, _, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		const kind = "ssh-ed25519"
		wire := binary.BigEndian.AppendUint32(nil, uint32(len(kind)))
		wire = append(wire, kind...)
		wire = binary.BigEndian.AppendUint32(wire, uint32(len(public)))
		wire = append(wire, public...)
		text := kind + " " + base64.StdEncoding.EncodeToString(wire)
		made := must(c.SSHKeys.Create(text))
		wantSame(t, "the key", must(c.SSHKey.Get(made.ID)).Key, text)
		wantSame(t, "the number of keys", len(must(c.SSHKeys.Get())), 1)
		mustSucceed(c.SSHKey.Delete(made.ID))
		wantSame(t, "the number of keys", len(must(c.SSHKeys.Get())), 0)
	})
}

func TestSSLKeys(t *testing.T) {
	startClient(t, func(c *client.Client) {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
		if err != nil {
			t.Fatal(err)
		}
		text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
		made := must(c.SSLKeys.Create(text))
		wantSame(t, "the key", strings.TrimSpace(must(c.SSLKey.Get(made.ID)).Key), strings.TrimSpace(text))
		wantSame(t, "the number of keys", len(must(c.SSLKeys.Get())), 1)
		mustSucceed(c.SSLKey.Delete(made.ID))
		wantSame(t, "the number of keys", len(must(c.SSLKeys.Get())), 0)
	})
}
