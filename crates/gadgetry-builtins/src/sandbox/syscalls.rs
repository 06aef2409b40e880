//! System calls that no command needs, and that lead out.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use super::job::Mode;

/// The bit in the numbers of x32, a second set of a 64-bit kernel.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Those of x32 that have other numbers there, which old kernels also accept without the bit.
#[cfg(target_arch = "x86_64")]
const OTHER_IN_X32: [(i64, i64); 6] = [
    (libc::SYS_ioctl, 514),
    (libc::SYS_ptrace, 521),
    (libc::SYS_kexec_load, 528),
    (libc::SYS_move_pages, 533),
    (libc::SYS_process_vm_readv, 539),
    (libc::SYS_process_vm_writev, 540),
];

/// The bits of a socket's type that are its kind.
const KIND: u64 = 0xf;

/// `SOCK_STREAM` and `SOCK_SEQPACKET`.
const CONNECTED: [u64; 2] = [1, 5];

/// `TIOCSTI` and `TIOCLINUX`, requests of `ioctl` that type into a terminal.
const TYPING: [u64; 2] = [0x5412, 0x541c];

/// `FS_IOC_SETFLAGS`, `FS_IOC_FSSETXATTR`, `FS_IOC_SETVERSION` and that of ext4: requests of `ioctl` that set attributes such as
/// `append only`.
const ATTRIBUTES: [u64; 4] = [0x4008_6602, 0x401c_5820, 0x4008_7602, 0x4008_6604];

/// `S_ISUID`: a program runs as its owner.
const SETUID: u64 = 0o4000;

/// `O_CREAT`, and what `O_TMPFILE` has apart from `O_DIRECTORY`.
const MAKING: [u64; 2] = [0o100, 0o20_000_000];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refuses them in this thread and in all that it starts, for good.
pub(super) fn refuse(mode: Mode) -> io::Result<()> {
    let failed = |error: Box<dyn std::error::Error>| io::Error::other(error.to_string());
    let mut rules = always().map_err(failed)?;
    if mode == Mode::Landlock {
        rules.extend(without_namespaces().map_err(failed)?);
    }
    install(rules, libc::EPERM).map_err(failed)?;
    // Their flags and modes are in memory, which no filter sees. Libraries fall back to `clone` and `openat`, where they are arguments.
    let unknown = [libc::SYS_clone3, libc::SYS_openat2].map(|number| (number, Vec::new()));
    install(unknown.into(), libc::ENOSYS).map_err(failed)
}

fn install(rules: Rules, error: i32) -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(target_arch = "x86_64")]
    let rules: Rules = {
        let others = OTHER_IN_X32.into_iter();
        let others =
            others.filter_map(|(number, other)| Some((other, rules.get(&number)?.clone())));
        let mut all: Rules = others.collect();
        all.extend(rules);
        let x32: Rules = (all.iter())
            .map(|(number, rules)| (X32 + number, rules.clone()))
            .collect();
        all.extend(x32);
        all
    };
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(error.unsigned_abs()),
        TargetArch::try_from(std::env::consts::ARCH)?,
    )?;
    let program: BpfProgram = filter.try_into()?;
    Ok(apply_filter(&program)?)
}

/// Sockets, new namespaces and mounts, and doors to the kernel.
fn always() -> Result<Rules, Box<dyn std::error::Error>> {
    let mut rules: Rules = [
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        // Its requests are in memory, which no filter sees.
        libc::SYS_io_uring_setup,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_fsopen,
        libc::SYS_fspick,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_mount_setattr,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_add_key,
        libc::SYS_keyctl,
        libc::SYS_request_key,
        libc::SYS_open_by_handle_at,
        libc::SYS_pidfd_getfd,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_swapon,
        libc::SYS_syslog,
    ]
    .into_iter()
    .map(|number| (number, Vec::new()))
    .collect();
    let user_namespace = u64::from(libc::CLONE_NEWUSER.unsigned_abs());
    let flags = SeccompCmpOp::MaskedEq(user_namespace);
    rules.insert(libc::SYS_clone, vec![argument(0, flags, user_namespace)?]);
    // Pairs of sockets reach no other program, but those for datagrams do: each message may have an address.
    let is_datagram = |kind: &u64| !CONNECTED.contains(kind);
    let kinds = (0..=KIND).filter(is_datagram);
    let pairs = kinds.map(|kind| argument(1, SeccompCmpOp::MaskedEq(KIND), kind));
    let pairs: Result<Vec<SeccompRule>, _> = pairs.collect();
    rules.insert(libc::SYS_socketpair, pairs?);
    // Typing into a terminal that someone else reads.
    let typing = TYPING.map(|request| argument(1, SeccompCmpOp::Eq, request));
    let typing: Result<Vec<SeccompRule>, _> = typing.into_iter().collect();
    rules.insert(libc::SYS_ioctl, typing?);
    set_user(&mut rules)?;
    Ok(rules)
}

/// Making programs that run as this user, for other users, at any later time.
fn set_user(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    const FCHMODAT2: i64 = 452;
    let mut modes = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
        (libc::SYS_mknodat, 2),
    ];
    // Without these flags, the mode is whatever is there.
    let mut opens = vec![(libc::SYS_openat, 2, 3)];
    #[cfg(target_arch = "x86_64")]
    {
        modes.extend([
            (libc::SYS_chmod, 1),
            (libc::SYS_mknod, 1),
            (libc::SYS_creat, 1),
        ]);
        opens.push((libc::SYS_open, 1, 2));
    }
    for (number, mode) in modes {
        rules.insert(
            number,
            vec![argument(mode, SeccompCmpOp::MaskedEq(SETUID), SETUID)?],
        );
    }
    for (number, flags, mode) in opens {
        let making = MAKING.map(|flag| {
            let both = [(flags, flag), (mode, SETUID)].map(|(index, bits)| {
                let op = SeccompCmpOp::MaskedEq(bits);
                SeccompCondition::new(index, SeccompCmpArgLen::Dword, op, bits)
            });
            let [flags, mode] = both;
            SeccompRule::new(vec![flags?, mode?])
        });
        rules.insert(number, making.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(())
}

/// System calls that Landlock does not confine: metadata of files, wherever they are, and other processes.
fn without_namespaces() -> Result<Rules, Box<dyn std::error::Error>> {
    const FCHMODAT2: i64 = 452;
    const SETXATTRAT: i64 = 463;
    const REMOVEXATTRAT: i64 = 466;
    const FILE_SETATTR: i64 = 469;
    let mut numbers = vec![
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        FCHMODAT2,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        SETXATTRAT,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        REMOVEXATTRAT,
        FILE_SETATTR,
        libc::SYS_utimensat,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_pidfd_open,
        libc::SYS_kcmp,
        libc::SYS_migrate_pages,
        libc::SYS_move_pages,
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_semctl,
        libc::SYS_msgget,
        libc::SYS_msgsnd,
        libc::SYS_msgrcv,
        libc::SYS_msgctl,
        libc::SYS_mq_open,
        libc::SYS_mq_unlink,
        libc::SYS_setpriority,
        libc::SYS_ioprio_set,
    ];
    #[cfg(target_arch = "x86_64")]
    numbers.extend([
        libc::SYS_chmod,
        libc::SYS_chown,
        libc::SYS_lchown,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
    ]);
    let mut rules: Rules = numbers
        .into_iter()
        .map(|number| (number, Vec::new()))
        .collect();
    // Of another process: 0 is the one that asks.
    for number in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
    ] {
        rules.insert(number, vec![argument(0, SeccompCmpOp::Ne, 0)?]);
    }
    let mut requests = always()?.remove(&libc::SYS_ioctl).unwrap_or_default();
    for request in ATTRIBUTES {
        requests.push(argument(1, SeccompCmpOp::Eq, request)?);
    }
    rules.insert(libc::SYS_ioctl, requests);
    Ok(rules)
}

/// A rule about the lower half of an argument, which is what the kernel looks at.
fn argument(
    index: u8,
    op: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = SeccompCondition::new(index, SeccompCmpArgLen::Dword, op, value)?;
    SeccompRule::new(vec![condition])
}
