# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# pool.sh: the keys of the laboratory and who is let in with which, for compared.t:
#
#     pool_make DIR     DIR/keys, DIR/host, DIR/authorized, DIR/sshd_config.h1 … h3, DIR/passwd
#
# Users root, alice and bob of three hosts; port 2222 takes other keys than 22, and port 2200 asks
# for passwords as well. Host h2 has a certificate, host h3 few algorithms. What configurations.py
# writes rests on this.

# pool_key NAME TYPE [PASSPHRASE]
pool_key() { ssh-keygen -q -N "${3:-}" -C "$1" -f "$1" -t "$2"; }
# pool_sign AUTHORITY NAME TIME CERTIFICATE
pool_sign() {
    ssh-keygen -q -s "$1" -I "$2" -n root,alice,bob -V "$3" "$2.pub" && mv "$2-cert.pub" "$4"
}

pool_make() (
    umask 022
    mkdir -p "$1/keys" "$1/host" "$1/authorized" && cd "$1/keys" || exit
    for key in ed1 ed2 ed3 agent1 agent2 agent3 stranger user_ca host_ca other_ca \
        spare1 spare2 spare3 spare4 spare5 spare6; do
        pool_key $key ed25519 || exit
    done
    ssh-keygen -q -N '' -C rsa1 -f rsa1 -t rsa -b 2048 && pool_key ec1 ecdsa &&
        pool_key locked ed25519 secret || exit
    # Certificates: a good one, one that is over, one of an authority that no host knows.
    pool_sign user_ca ed3 -1h:+2d good.cert && pool_sign user_ca ed1 -2h:-1h old.cert &&
        pool_sign other_ca ed1 -1h:+2d foreign.cert &&
        pool_sign user_ca agent3 -1h:+2d agent.cert || exit
    cd ../host || exit
    ssh-keygen -q -t ed25519 -N '' -C host -f ed25519 &&
        ssh-keygen -q -t rsa -b 2048 -N '' -C host -f rsa &&
        ssh-keygen -q -t ecdsa -N '' -C host -f ecdsa &&
        ssh-keygen -q -t ed25519 -N '' -C other -f other &&
        ssh-keygen -q -s ../keys/host_ca -h -I h2 -V -1h:+2d \
            -n h2,beta,beta.lab.test,10.88.0.3,fd88::3,kept ed25519.pub &&
        ssh-keygen -q -k -f revoked.krl ed25519.pub rsa.pub ecdsa.pub &&
        ssh-keygen -q -k -f other.krl other.pub || exit
    cd ../authorized || exit
    cat ../keys/{ed1,rsa1,ec1,agent1,locked}.pub > root
    cat ../keys/{ed2,rsa1,agent2}.pub > alice
    cat ../keys/agent3.pub > bob
    cat ../keys/{ed2,agent3}.pub > root.2222
    cat ../keys/{ed1,agent1}.pub > alice.2222
    cat ../keys/agent2.pub > bob.2222
    for h in h1 h2 h3; do
        {
            printf 'HostKey %s\n' "$1/host/ed25519" "$1/host/rsa" "$1/host/ecdsa"
            case $h in
            h2) echo "HostCertificate $1/host/ed25519-cert.pub" ;;
            h3) printf '%s\n' 'Ciphers aes256-ctr' 'MACs hmac-sha2-512' \
                'KexAlgorithms ecdh-sha2-nistp256' 'HostKeyAlgorithms rsa-sha2-512' ;;
            esac
            cat << END
Port 22
Port 2222
Port 2200
PidFile none
TrustedUserCAKeys $1/keys/user_ca.pub
StrictModes no
PermitRootLogin yes
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
LogLevel VERBOSE
Subsystem sftp internal-sftp
PasswordAuthentication no
Match LocalPort 2222
    AuthorizedKeysFile $1/authorized/%u.2222
    PasswordAuthentication no
Match LocalPort 2200
    AuthorizedKeysFile $1/authorized/%u
    PasswordAuthentication yes
Match all
    AuthorizedKeysFile $1/authorized/%u
END
        } > "$1/sshd_config.$h"
    done
    {
        echo "root:x:0:0:root:/root:/bin/bash"
        grep -v '^\(root\|alice\|bob\):' /etc/passwd
        echo "alice:*:20001:20001::/run/home/alice:/bin/bash"
        echo "bob:*:20002:20002::/run/home/bob:/bin/bash"
    } > "$1/passwd"
    cat > "$1/hosts" << END
127.0.0.1 localhost
10.88.0.1 client
10.88.0.2 h1 h1.lab.test alpha alpha.lab.test
10.88.0.3 h2 h2.lab.test beta beta.lab.test
10.88.0.4 h3 h3.lab.test gamma gamma.lab.test
fd88::2 six1 both1
fd88::3 six2 both2
fd88::4 six3 both3
10.88.0.2 both1
10.88.0.3 both2
10.88.0.4 both3
END
    echo "hosts: files" > "$1/nsswitch.conf"
    printf '#!/bin/sh\necho "$1" >> /run/asked\nexit 1\n' > "$1/askpass"
    chmod 755 "$1/askpass"
)
