package main

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// notify sends the service manager that started the daemon a state, as sd_notify(3) does. It does
// nothing if no manager waits for one: systemd sets the variable for units of Type=notify.
func notify(state string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	// A name that starts with @ is an abstract socket, here as in the variable.
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("cannot notify the service manager of %s: %w", state, err)
	}
	_, err = c.Write([]byte(state))
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("cannot notify the service manager of %s: %w", state, err)
	}
	return nil
}
