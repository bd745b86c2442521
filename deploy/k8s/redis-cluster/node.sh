#!/bin/sh
# One node of a Redis Cluster, which finds its own place: a new cluster forms itself, a node that comes again is known
# under whatever address it has now, and one that has lost its disk becomes a replica of the master that needs one.
#
#   node.sh start   the server, as this process, with a loop beside it that tends the node
#   node.sh ready   ends with 0 while the cluster is whole for this node and a replica follows its master
#   node.sh leave   hands a master's slots to its replica, before the node stops
#   node.sh backup  writes a snapshot of what the node has to standard output
#   node.sh restore puts what is in a snapshot, read from standard input, into the cluster
#   node.sh adopt   gives this empty master the slots of masters that are dead: what they held is lost then
#   node.sh cli ... redis-cli on this node
#
# NODE_NAME     ends in the node's number, as names of a StatefulSet's pods do
# NODE_ADDRESS  its IP address, as others reach it
# PEERS         host:port of all nodes, the own one too, in the order of their numbers
# MASTERS       how many masters there are to be (3); all other nodes are replicas
# REDISCLI_AUTH the password of all nodes; OTHER_PASSWORD is good, too, while one takes the place of the other
# Further: PORT, BIND, DATA, MAXMEMORY, NODE_TIMEOUT_MS, TEND_SECONDS, RESTORE_PORT.
set -eu

: "${NODE_NAME:?}" "${NODE_ADDRESS:?}" "${PEERS:?}" "${REDISCLI_AUTH:?}"
NUMBER=${NODE_NAME##*-}
PORT=${PORT:-6379}
MASTERS=${MASTERS:-3}
TEND_SECONDS=${TEND_SECONDS:-5}
SLOTS=16384

start() {
  sh "$0" tend &
  own=$(echo "$PEERS" | tr -s ' ' '\n' | sed -n "$((NUMBER + 1))p")
  # Secrets on standard input: whoever lists processes sees the arguments.
  exec redis-server --port "$PORT" ${BIND:+--bind "$BIND"} --dir "${DATA:-/data}" \
    --cluster-enabled yes --cluster-config-file nodes.conf --cluster-node-timeout "${NODE_TIMEOUT_MS:-5000}" \
    --cluster-announce-ip "$NODE_ADDRESS" --cluster-announce-hostname "${own%:*}" \
    --cluster-require-full-coverage no --cluster-allow-replica-migration yes \
    --appendonly yes --appendfsync everysec --save "" \
    --repl-diskless-sync yes --repl-diskless-sync-max-replicas 1 \
    --maxmemory "${MAXMEMORY:-0}" --maxmemory-policy noeviction - <<SECRETS
user default on >$REDISCLI_AUTH ${OTHER_PASSWORD:+>$OTHER_PASSWORD} ~* &* +@all
masterauth $REDISCLI_AUTH
SECRETS
}

# Every command has an end, whatever the node at the other end does.
ask() { # ADDRESS PORT COMMAND...
  address=$1 port=$2
  shift 2
  timeout 3 redis-cli --no-auth-warning -e -h "$address" -p "$port" "$@"
}

here() { ask "$NODE_ADDRESS" "$PORT" "$@"; }

address_of() { getent hosts "$1" | { read -r found _ && echo "$found"; }; }

tend() {
  server=$PPID
  while kill -0 "$server" 2> /dev/null; do
    if here PING > /dev/null 2>&1; then
      meet || true
      forget || true
      follow || true
      if [ "$NUMBER" -eq 0 ]; then form || true; fi
    fi
    sleep "$TEND_SECONDS"
  done
}

# Names stay and addresses change: a node that has no link to where a name leads now is met there. A node that is known
# already keeps its place; only its address is news.
meet() {
  known=$(here CLUSTER NODES)
  for peer in $PEERS; do
    address=$(address_of "${peer%:*}") || continue
    if ! knows "$address:${peer##*:}" 'myself|handshake'; then
      here CLUSTER MEET "$address" "${peer##*:}" > /dev/null
    fi
  done
}

# Whether the node at a place is linked to, or is of a kind that needs no link, by the table in $known.
knows() { # ADDRESS:PORT FLAGS
  echo "$known" | awk -v place="$1@" -v flags="$2" '
    index($2, place) == 1 && ($3 ~ flags || $8 == "connected") { found = 1 }
    END { exit !found }'
}

# A node that lost its disk is another node of the same name; what it was is dead for good. Where another node has
# answered at its address before anybody missed it, it has no address any more and never counts as failed. Dead nodes
# that own slots are left alone: their data may come again, and a person has to decide.
forget() {
  here CLUSTER NODES | awk '
    { comma = index($2, ","); name = comma ? substr($2, comma + 1) : ""; sub(/,.*/, "", name)
      dead = $3 ~ /(^|,)(fail|noaddr)(,|$)/
      if (dead && NF == 8) gone[$1] = name
      if (!dead && $8 == "connected") alive[name] = 1 }
    END { for (id in gone) if (gone[id] != "" && gone[id] in alive) print id }' |
    while read -r id; do here CLUSTER FORGET "$id" > /dev/null; done
}

# The master that this node is to follow, if it is to follow another than now. A node without slots and keys follows
# once there are enough masters; until then those with the least ids stay masters, for slots to be moved to. A replica
# goes elsewhere when it follows another replica, or is the last of several and there is a master that has none.
follow() {
  here CLUSTER INFO | grep -q "^cluster_slots_assigned:$SLOTS" || return 0
  master=$(here CLUSTER NODES | sort | awk -v number="$NUMBER" -v wanted="$MASTERS" '
    { dead = $3 ~ /(^|,)(fail\??|handshake|noaddr)(,|$)/ }
    $3 ~ /myself/ { me = $1; leads = $3 ~ /master/; mine = $4; owns = NF > 8 }
    !dead && $3 ~ /master/ && $3 !~ /myself/ { if (NF > 8) fit[++fits] = $1; else empty[++empties] = $1 }
    !dead && $3 ~ /slave/ { replicas[$4]++; last[$4] = $1; is_replica[$1] = 1 }
    END {
      if (leads && owns) exit
      for (i = 1; i <= empties && fits < wanted; i++)
        if (empty[i] < me || !leads) fit[++fits] = empty[i]
      astray = !leads && mine in is_replica
      if (leads && fits < wanted) exit
      if (!leads && !astray && (replicas[mine] < 2 || last[mine] != me)) exit
      for (i = 1; i <= fits; i++)
        if (i == 1 || replicas[fit[i]] + 0 < fewest) fewest = replicas[fit[i]] + 0
      if (!leads && !astray && fewest > 0) exit
      for (i = 1; i <= fits; i++)
        if (replicas[fit[i]] + 0 == fewest) equal[ties++] = fit[i]
      print equal[number % ties]
    }')
  if [ -z "$master" ]; then return 0; fi
  if [ "$(here ROLE | head -n 1)" = master ] && [ "$(here DBSIZE)" -gt 0 ]; then return 0; fi
  here CLUSTER REPLICATE "$master" > /dev/null
  echo "node.sh: $NODE_NAME is told to follow $master"
}

# The first node shares the slots out, once: when all nodes are there, none has a key, and none knows of a cluster.
form() {
  for peer in $PEERS; do
    address=$(address_of "${peer%:*}") || return 0
    info=$(ask "$address" "${peer##*:}" CLUSTER INFO) || return 0
    if echo "$info" | grep -q "^cluster_slots_assigned:$SLOTS"; then return 0; fi
    if [ "$(ask "$address" "${peer##*:}" DBSIZE)" != 0 ]; then return 0; fi
  done
  share=0
  for peer in $PEERS; do
    if [ "$share" -eq "$MASTERS" ]; then break; fi
    address=$(address_of "${peer%:*}")
    if ask "$address" "${peer##*:}" CLUSTER NODES | awk '/myself/ && NF > 8 { owns = 1 } END { exit owns }'; then
      ask "$address" "${peer##*:}" CLUSTER ADDSLOTSRANGE \
        "$((share * SLOTS / MASTERS))" "$(((share + 1) * SLOTS / MASTERS - 1))" > /dev/null
      echo "node.sh: share $share of the slots is with $peer"
    fi
    share=$((share + 1))
  done
}

ready() {
  info=$(here CLUSTER INFO)
  echo "$info" | grep -q '^cluster_state:ok' || exit 1
  echo "$info" | grep -q "^cluster_slots_assigned:$SLOTS" || exit 1
  here ROLE | awk 'NR == 1 { leads = $1 == "master" } NR == 4 { follows = $1 == "connected" } END { exit !(leads || follows) }'
}

# With nobody to hand over to there is nothing to wait for. A replica that has taken over has every write.
leave() {
  replica=$(here CLUSTER NODES | awk '
    $3 ~ /myself/ && $3 ~ /master/ { me = $1 }
    $3 ~ /slave/ && $3 !~ /fail/ && $8 == "connected" { at[$4] = $2 }
    END { if (me != "") print at[me] }')
  replica=${replica%%@*}
  if [ -z "$replica" ]; then exit 0; fi
  ask "${replica%:*}" "${replica##*:}" CLUSTER FAILOVER > /dev/null
  tries=0
  until [ "$(here ROLE | head -n 1)" = slave ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 50 ]; then exit 1; fi
    sleep 0.2
  done
}

# Others believe the claim because it is newer than that of the dead. One of these that comes again is a replica then.
adopt() {
  if [ "$(here ROLE | head -n 1)" != master ] || [ "$(here DBSIZE)" -gt 0 ]; then
    echo "node.sh: $NODE_NAME is no empty master" >&2 && exit 1
  fi
  # By the word of each node about itself: what this one has heard of others may be old. Nor may its claim be.
  own=$(epoch "$NODE_ADDRESS" "$PORT") owned=""
  for peer in $PEERS; do
    address=$(address_of "${peer%:*}") && theirs=$(epoch "$address" "${peer##*:}") && [ "$theirs" -le "$own" ] &&
      nodes=$(ask "$address" "${peer##*:}" CLUSTER NODES) || {
      echo "node.sh: $NODE_NAME cannot know yet what $peer has" >&2 && exit 1
    }
    owned="$owned $(echo "$nodes" | awk '$3 ~ /myself/ { for (f = 9; f <= NF; f++) if ($f !~ /^\[/) print $f }')"
  done
  echo "$owned" | tr -s ' ' '\n' | awk -F - -v slots="$SLOTS" '
    NF { for (slot = $1; slot <= $NF; slot++) owned[slot + 0] = 1 }
    END {
      for (slot = 0; slot <= slots; slot++) {
        free = slot < slots && !(slot in owned)
        if (free && !begun) { first = slot; begun = 1 }
        if (!free && begun) { print first, slot - 1; begun = 0 }
      }
    }' |
    while read -r first last; do
      here CLUSTER DELSLOTSRANGE "$first" "$last" > /dev/null 2>&1 || true
      here CLUSTER ADDSLOTSRANGE "$first" "$last" > /dev/null
      echo "node.sh: $NODE_NAME has the slots $first to $last"
    done
  here CLUSTER BUMPEPOCH > /dev/null
}

epoch() { # ADDRESS PORT
  ask "$1" "$2" CLUSTER INFO | tr -d '\r' | sed -n 's/^cluster_current_epoch://p' | grep .
}

backup() { exec redis-cli --no-auth-warning -h "$NODE_ADDRESS" -p "$PORT" --rdb -; }

# Through a throwaway server beside this node: the cluster copies each key to where it belongs now.
restore() {
  place=${DATA:-/data}/restore port=${RESTORE_PORT:-6390}
  mkdir "$place"
  trap 'kill "$loader" 2> /dev/null || true; rm -rf "$place"' EXIT
  cat > "$place/dump.rdb"
  redis-server --bind 127.0.0.1 --port "$port" --dir "$place" --save "" --appendonly no > "$place/log" &
  loader=$!
  until env -u REDISCLI_AUTH redis-cli -e -p "$port" PING > /dev/null 2>&1; do
    if ! kill -0 "$loader" 2> /dev/null; then cat "$place/log" >&2 && exit 1; fi
    sleep 0.2
  done
  redis-cli --no-auth-warning --cluster import "$NODE_ADDRESS:$PORT" --cluster-from "127.0.0.1:$port" --cluster-copy
}

case ${1:-} in
  start | tend | follow | ready | leave | adopt | backup | restore) "$1" ;;
  cli) shift && exec redis-cli --no-auth-warning -h "$NODE_ADDRESS" -p "$PORT" "$@" ;;
  *) echo "node.sh start, ready, leave, adopt, backup, restore or cli" >&2 && exit 2 ;;
esac
