# Completion of pisess for PowerShell. Load it from $PROFILE:
#   pisess completions powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName pisess -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $words = @($commandAst.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { if ($null -ne $_.Value) { "$($_.Value)" } else { $_.Extent.Text } })
    pisess completions powershell --at $words.Count -- @words "$wordToComplete" 2>$null | ForEach-Object {
        $value, $help = $_ -split "`t", 2
        if (-not $help) { $help = $value }
        $text = if ($value -match '[\s''"$`;&|(){}@#]') { "'" + $value.Replace("'", "''") + "'" } else { $value }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $help)
    }
}
