/* What packaging/tests/windows needs beside pisess: processes that hold a file as other programs do.
   windows.exe MODE [ARGUMENT]; all modes print a line when they are ready, and most wait for the end of their input. */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void wait_for_end(const char *ready) {
    printf("%s\n", ready);
    fflush(stdout);
    while (getchar() != EOF) {}
}

static HANDLE open_file(const char *path, DWORD access, DWORD share) {
    HANDLE file = CreateFileA(path, access, share, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        fprintf(stderr, "%s: error %lu\n", path, GetLastError());
        exit(1);
    }
    return file;
}

int main(int count, char **words) {
    const DWORD everybody = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    const char *mode = count > 1 ? words[1] : "", *argument = count > 2 ? words[2] : "";
    char ready[64] = "ready";
    if (!strcmp(mode, "read")) { /* As Node opens a file. */
        open_file(argument, GENERIC_READ, everybody);
    } else if (!strcmp(mode, "append")) { /* As oh-my-pi keeps its session open. */
        open_file(argument, FILE_APPEND_DATA, everybody);
    } else if (!strcmp(mode, "alone")) { /* As a program that shares nothing. */
        open_file(argument, GENERIC_READ, 0);
    } else if (!strcmp(mode, "lock")) { /* The lock of pisess. */
        OVERLAPPED place = {0};
        place.Offset = 0xfffffffe;
        place.OffsetHigh = 0x7fffffff;
        HANDLE file = open_file(argument, GENERIC_READ, everybody);
        if (!LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &place)) return 1;
    } else if (!strcmp(mode, "pid")) { /* A process that lives. */
        snprintf(ready, sizeof ready, "%lu", GetCurrentProcessId());
    } else if (!strcmp(mode, "late")) { /* Starts a process that writes a file after two seconds, and waits for it. */
        char line[1024];
        STARTUPINFOA startup = {sizeof startup};
        PROCESS_INFORMATION process;
        snprintf(line, sizeof line, "\"%s\" later \"%s\"", words[0], argument);
        if (!CreateProcessA(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process)) return 1;
        WaitForSingleObject(process.hProcess, INFINITE);
        return 0;
    } else if (!strcmp(mode, "later")) {
        Sleep(2000);
        return fclose(fopen(argument, "w"));
    } else if (!strcmp(mode, "cat")) {
        int byte;
        while ((byte = getchar()) != EOF) putchar(byte);
        return 0;
    } else if (!strcmp(mode, "exit")) {
        return atoi(argument);
    } else {
        fprintf(stderr, "no such mode: %s\n", mode);
        return 2;
    }
    wait_for_end(ready);
    return 0;
}
