package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/firstseen/firstseen/internal/wire"
	"github.com/firstseen/firstseen/store"
)

// daemonFlags name a running daemon.
type daemonFlags struct{ addr, tokenFile, ca string }

func (f *daemonFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.addr, "daemon", "", "host:port of the HTTP interface of a running daemon, or https://host:port")
	fs.StringVar(&f.tokenFile, "token-file", "", "file that has the token for the daemon, and nothing else")
	fs.StringVar(&f.ca, "ca", "", "PEM file of the CA certificates that the daemon's certificate is checked against; default: those of this machine")
}

func (f *daemonFlags) given() bool { return f.addr != "" }

// daemonClient asks a running daemon over HTTP.
type daemonClient struct {
	base, token string
	http        *http.Client
}

func (f *daemonFlags) open() (*daemonClient, error) {
	base := f.addr
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" {
		return nil, misusef("cannot ask the daemon; got --daemon %s; want host:port or https://host:port", f.addr)
	}
	d := &daemonClient{base: u.Scheme + "://" + u.Host}
	if f.tokenFile != "" {
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read the token: %w", err)
		}
		d.token = strings.TrimSpace(string(text))
		if strings.ContainsAny(d.token, " \t\n") {
			return nil, misusef("cannot read the token; got several words in %s; want the token alone", f.tokenFile)
		}
	}
	transport := &http.Transport{Proxy: nil, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("cannot read the CA certificates: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, misusef("cannot read the CA certificates; got no certificate in %s; want PEM", f.ca)
		}
		transport.TLSClientConfig.RootCAs = roots
	}
	d.http = &http.Client{Transport: transport}
	return d, nil
}

// get asks for something; an answer of several values is read by the caller.
func (d *daemonClient) get(ctx context.Context, path string, query url.Values, answer any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return d.ask(ctx, http.MethodGet, path, nil, answer)
}

// post has the daemon do something.
func (d *daemonClient) post(ctx context.Context, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return d.ask(ctx, http.MethodPost, path, text, answer)
}

func (d *daemonClient) ask(ctx context.Context, method, path string, body []byte, answer any) error {
	resp, err := d.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return fmt.Errorf("cannot read the answer of the daemon: %w", err)
	}
	return nil
}

// unanswered says why a request got no answer, and what to check.
func (d *daemonClient) unanswered(err error) error {
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err // without the address, which is in the message
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("cannot reach the daemon at %s: %w; is it running, with --http on this address?", d.base, syscall.ECONNREFUSED)
	case strings.Contains(err.Error(), "malformed HTTP"):
		return fmt.Errorf("cannot ask the daemon at %s: its answer is no HTTP; want the port of its HTTP interface (--http, 7072 by default)", d.base)
	}
	return fmt.Errorf("cannot ask the daemon at %s: %w", d.base, err)
}

// do returns an answer that is no refusal. The caller must close its body.
func (d *daemonClient) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, d.unanswered(err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refused(resp)
	}
	return resp, nil
}

// crawls lists the crawls that a flag names; "*" is all of them. A crawl that does not exist is
// misuse, as in crawlIn.
func (d *daemonClient) crawls(ctx context.Context, name string) ([]string, error) {
	var st struct{ Crawls []string }
	if err := d.get(ctx, "/v1/stats", url.Values{"crawl": {"*"}}, &st); err != nil {
		return nil, err
	}
	if name == "*" {
		return st.Crawls, nil
	}
	if !slices.Contains(st.Crawls, name) {
		return nil, misusef("cannot find crawl %q; the daemon has %s", name, nameList(st.Crawls))
	}
	return []string{name}, nil
}

// refused returns the refusal of a daemon as an error.
func refused(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("cannot read the answer of the daemon: %w", err)
	}
	var fault wire.Error
	if json.Unmarshal(text, &fault) != nil || fault.Error.Message == "" {
		fault.Error.Message = fmt.Sprintf("%.100s", text)
	}
	hint := ""
	if resp.StatusCode == http.StatusUnauthorized {
		hint = "; give --token-file with a file that has such a token"
	}
	err = fmt.Errorf("the daemon refused (%d): %s%s", resp.StatusCode, fault.Error.Message, hint)
	if resp.StatusCode == http.StatusNotFound { // a name misspelt, as in crawlIn
		err = misuse{err}
	}
	return err
}

// orDaemon has a command that works on a store ask a running daemon instead if --daemon is
// given.
func orDaemon(cmd *cobra.Command, f *daemonFlags, ask func(context.Context, *daemonClient, []string) error) {
	f.add(cmd.Flags())
	onStore := cmd.RunE
	cmd.RunE = running(func(cmd *cobra.Command, args []string) error {
		if !f.given() {
			err := onStore(cmd, args)
			if errors.Is(err, store.ErrLocked) {
				err = fmt.Errorf("%w; if its daemon runs, use --daemon with the address of its HTTP interface", err)
			}
			return err
		}
		for _, other := range []string{"db", "redis"} {
			if cmd.Flags().Changed(other) {
				return misusef("cannot use --%s with --daemon; want one of them", other)
			}
		}
		d, err := f.open()
		if err != nil {
			return err
		}
		return ask(cmd.Context(), d, args)
	})
}
